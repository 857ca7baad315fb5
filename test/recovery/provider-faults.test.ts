import { join } from "node:path";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { printFigure } from "../support/figure.ts";
import { expectSoundRuns } from "../support/invariants.ts";
import { startStandIn, type Script, type ScriptedTurn, type Wire } from "../support/providers/index.ts";
import { readDatabase } from "../support/processes.ts";
import { startSystem } from "../support/system.ts";

vi.setConfig({ testTimeout: 60_000 });

const WIRES: Wire[] = ["anthropic", "openai-responses", "openai-chat", "gemini"];
/** Stands in each answer that fails on its way, and so must be kept nowhere. */
const PARTIAL = "half-said";
const AT_ONCE = 25;

const half = { thoughts: [`Thinking, ${PARTIAL}.`], text: `Answering, ${PARTIAL}, of which nothing may be kept.` };
const halfCall = { ...half, calls: [{ name: "look_up", arguments: { id: PARTIAL } }] };

/** Faults by name. Those that pass are met once; the next attempt is answered well. */
const PASSING: Record<string, ScriptedTurn> = {
  "429": { error: { status: 429, headers: { "retry-after": "0" } } },
  "500": { error: { status: 500 } },
  "503": { error: { status: 503 } },
  "an error in mid-stream": { ...halfCall, midStreamError: { message: "overloaded" } },
  "an end before the end": { ...halfCall, cutAfterBytes: 300, cutCleanly: true },
};
const LASTING: Record<string, ScriptedTurn> = {
  "401 for ever": { error: { status: 401 } },
  "429 for ever": { error: { status: 429, headers: { "retry-after": "0" } } },
  "cuts for ever": { ...half, cutAfterBytes: 200 },
  "a stall": { ...half, stallAfterBytes: 200 },
};
const ODD: Record<string, ScriptedTurn> = {
  "a function that is not there": { calls: [{ name: "wipe_all" }, { name: "look_up", arguments: { id: "1" } }] },
  "200 calls": {
    calls: Array.from({ length: 200 }, (_, index) => ({ name: "look_up", arguments: { id: `${index}` } })),
  },
  "no word at all": { text: "" },
};

function lookUp(ran: string[]) {
  const one = defineFunction({
    name: "look_up",
    description: "Looks something up.",
    input: { type: "object", properties: { id: { type: "string" } } },
    roles: everyone,
    handler: ({ id }: { id?: string }) => void ran.push(id ?? ""),
  });
  return defineService({ name: "look-up", functions: [one] });
}

test.concurrent.each(WIRES)(
  "whatever a provider on the wire %s does, every run ends and nothing half-said is kept",
  async (wire) => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, "data.db");
    const attempts = new Map<string, number>();
    const script: Script = ({ query, results }) => {
      const attempt = (attempts.get(query) ?? 0) + 1;
      attempts.set(query, attempt);
      const cutAfterBytes = Number(/^cut (\d+)$/.exec(query)?.[1]);
      if (cutAfterBytes && attempt === 1) return { ...halfCall, cutAfterBytes };
      if (LASTING[query]) return LASTING[query];
      if (PASSING[query] && attempt === 1) return PASSING[query];
      if (ODD[query] && results.length === 0 && attempt === 1) return ODD[query];
      return { text: "Done." };
    };
    const ran: string[] = [];
    await using standIn = await startStandIn(wire, script);
    await using system = await startSystem({
      database: `sqlite:${file}`,
      providers: standIn.config,
      service: lookUp(ran),
      runTimeoutMs: 8_000,
    });

    // One cut in each small piece of an answer; the size is that of the first, uncut one.
    const whole = await startStandIn(wire, () => halfCall);
    await using probe = await startSystem({ providers: whole.config, service: lookUp([]), runTimeoutMs: 1_000 });
    await probe.query("measure");
    const size = whole.requests[0]!.answerBytes;
    await whole.close();
    const cuts = Array.from({ length: 60 }, (_, index) => `cut ${Math.max(1, Math.floor((size * index) / 60))}`);

    const answers = new Map<string, Awaited<ReturnType<typeof system.query>>>();
    const queue = [...Object.keys({ ...PASSING, ...LASTING, ...ODD }), ...new Set(cuts)];
    const count = queue.length;
    const worker = async (): Promise<void> => {
      for (let query = queue.shift(); query; query = queue.shift()) answers.set(query, await system.query(query));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));

    for (const [query, { success, code }] of answers)
      expect([query, success, code]).toEqual([
        query,
        !LASTING[query],
        query === "a stall" ? "deadline_exceeded" : LASTING[query] ? "provider_error" : undefined,
      ]);
    for (const [query, tries] of attempts) expect(tries, query).toBeLessThanOrEqual(3);
    expect(answers.get("200 calls")?.toolInteractions).toHaveLength(200);
    expect(ran.toSorted()).toEqual(["1", ...Array.from({ length: 200 }, (_, index) => `${index}`)].toSorted());
    expect(expectSoundRuns(file)).toEqual({ runs: count, succeeded: count - Object.keys(LASTING).length });
    using database = readDatabase(file);
    const tables = database.rows<{ name: string }>("select name from sqlite_master where type = 'table'");
    const kept = tables.map(({ name }) => JSON.stringify(database.rows(`select * from "${name}"`))).join("\n");
    expect(kept).toContain("Done.");
    expect(kept).not.toContain(PARTIAL);
    printFigure(`31 provider faults, ${wire}`, {
      runs: count,
      cuts: new Set(cuts).size,
      "attempts at most": Math.max(...attempts.values()),
      "half-said texts kept": 0,
    });
  },
);
