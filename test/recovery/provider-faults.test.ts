import { join } from "node:path";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { printFigure } from "@patchbay/test-support/figures";
import { expectSoundRuns } from "../support/invariants.ts";
import { startStandIn, type Script, type ScriptedTurn, type Wire } from "@patchbay/test-support/providers";
import { readDatabase } from "../support/processes.ts";
import { startSystem } from "@patchbay/test-support/system";

const WIRES: Wire[] = ["anthropic", "openai-responses", "openai-chat", "gemini"];
/** Part of every answer that fails before its end. No table may contain it afterwards. */
const PARTIAL = "half-said";
const QUERIES_AT_ONCE = 8;
const CUTS = 60;

const half = { thoughts: [`Thinking, ${PARTIAL}.`], text: `Answering, ${PARTIAL}, which must not be stored.` };
const halfCall = { ...half, calls: [{ name: "look_up", arguments: { id: PARTIAL } }] };

/** Faults of the first attempt; the second one succeeds. */
const PASSING: Record<string, ScriptedTurn> = {
  "429": { error: { status: 429, headers: { "retry-after": "0" } } },
  "500": { error: { status: 500 } },
  "503": { error: { status: 503 } },
  "an error during the stream": { ...halfCall, midStreamError: { message: "overloaded" } },
  "a stream without its terminal event": { ...halfCall, cutAfterBytes: 300, cutCleanly: true },
};
/** Faults of every attempt. */
const LASTING: Record<string, ScriptedTurn> = {
  "always 401": { error: { status: 401 } },
  "always 429": { error: { status: 429, headers: { "retry-after": "0" } } },
  "always cut": { ...half, cutAfterBytes: 200 },
};
const ODD: Record<string, ScriptedTurn> = {
  "an unknown function": { calls: [{ name: "wipe_all" }, { name: "look_up", arguments: { id: "1" } }] },
  "200 calls": {
    calls: Array.from({ length: 200 }, (_, index) => ({ name: "look_up", arguments: { id: `${index}` } })),
  },
  "an empty answer": { text: "" },
};

function lookUp(ran: string[] = []) {
  const one = defineFunction({
    name: "look_up",
    description: "Looks something up.",
    input: { type: "object", properties: { id: { type: "string" } } },
    roles: everyone,
    handler: ({ id }: { id?: string }) => void ran.push(id ?? ""),
  });
  return defineService({ name: "look-up", functions: [one] });
}

/** Byte offsets at which an answer is cut, spread over its whole length. */
async function cutPoints(wire: Wire): Promise<number[]> {
  await using standIn = await startStandIn(wire, ({ results }) =>
    results.length === 0 ? halfCall : { text: "Done." },
  );
  await using system = await startSystem({ providers: standIn.config, service: lookUp() });
  expect(await system.query("measure")).toMatchObject({ success: true, response: "Done." });
  const size = standIn.requests[0]!.answerBytes;
  const points = Array.from({ length: CUTS }, (_, index) => Math.max(1, Math.floor((size * index) / CUTS)));
  return [...new Set(points)];
}

function expectNothingPartial(file: string): void {
  using database = readDatabase(file);
  const tables = database.rows<{ name: string }>("select name from sqlite_master where type = 'table'");
  const kept = tables.map(({ name }) => JSON.stringify(database.rows(`select * from "${name}"`))).join("\n");
  expect(kept).toContain("look_up");
  expect(kept).not.toContain(PARTIAL);
}

test.each(WIRES)("every run ends without a partial answer after any fault on the wire %s", async (wire) => {
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
    limits: { callsPerTurn: 200 },
  });

  const cuts = await cutPoints(wire);
  const answers = new Map<string, Awaited<ReturnType<typeof system.query>>>();
  const queue = [...Object.keys({ ...PASSING, ...LASTING, ...ODD }), ...cuts.map((bytes) => `cut ${bytes}`)];
  const count = queue.length;
  const worker = async (): Promise<void> => {
    for (let query = queue.shift(); query; query = queue.shift()) answers.set(query, await system.query(query));
  };
  await Promise.all(Array.from({ length: QUERIES_AT_ONCE }, worker));

  for (const [query, { success, code }] of answers)
    expect([query, success, code]).toEqual([query, !LASTING[query], LASTING[query] ? "provider_error" : undefined]);
  for (const [query, tries] of attempts) expect(tries, query).toBeLessThanOrEqual(3);
  expect(answers.get("200 calls")?.toolInteractions).toHaveLength(200);
  expect(ran.toSorted()).toEqual(["1", ...Array.from({ length: 200 }, (_, index) => `${index}`)].toSorted());
  expect(await expectSoundRuns(file)).toEqual({ runs: count, succeeded: count - Object.keys(LASTING).length });
  expectNothingPartial(file);
  printFigure(`provider faults, ${wire}`, {
    runs: count,
    cuts: cuts.length,
    "attempts at most": Math.max(...attempts.values()),
    "partial texts kept": 0,
  });
});

test.each(WIRES)("a run ends at its deadline when the provider stalls on the wire %s", async (wire) => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "data.db");
  await using standIn = await startStandIn(wire, () => ({ ...half, stallAfterBytes: 200 }));
  await using system = await startSystem({
    database: `sqlite:${file}`,
    providers: standIn.config,
    service: lookUp(),
    runTimeoutMs: 1_000,
  });

  expect(await system.query("a stall")).toMatchObject({ success: false, code: "deadline_exceeded" });
  expect(await expectSoundRuns(file)).toEqual({ runs: 1, succeeded: 0 });
  expectNothingPartial(file);
});
