import { join } from "node:path";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { printFigure } from "@patchbay/test-support/figures";
import { expectSoundRuns } from "../support/invariants.ts";
import { startStandIn, WIRES } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";

const RUNS = 10;

/** Each way in which a provider is away; the connection breaks in the middle of an answer, or before one. */
const OUTAGES = {
  overloaded: { error: { status: 529 } },
  limiting: { error: { status: 429 } },
  broken: { text: "Half of an answer, which must not be kept.", cutAfterBytes: 150 },
  ended: { text: "Half of an answer, which must not be kept.", cutAfterBytes: 150, cutCleanly: true },
};
const KINDS = Object.keys(OUTAGES) as (keyof typeof OUTAGES)[];

test.each(WIRES)(
  "runs that have paid survive an outage of their provider, and pay once, on the wire %s",
  async (wire) => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, "data.db");
    const paid: string[] = [];
    const pay = defineFunction({
      name: "pay",
      description: "Pays.",
      input: { type: "object", properties: { run: { type: "string" } } },
      roles: everyone,
      handler: ({ run }: { run?: string }) => void paid.push(run ?? ""),
    });
    const failures = new Map<string, number>();
    await using standIn = await startStandIn(wire, ({ query, step }) => {
      const run = query.slice(query.indexOf("run "));
      if (step === 0) return { calls: [{ name: "pay", arguments: { run } }] };
      const failed = failures.get(run) ?? 0;
      failures.set(run, failed + 1);
      // One more than the attempts of a turn that is the first of its run.
      return failed < 4 ? OUTAGES[KINDS[Number(run.slice(4)) % KINDS.length]!] : { text: `Paid for ${run}.` };
    });
    await using system = await startSystem({
      database: `sqlite:${file}`,
      providers: standIn.config,
      service: defineService({ name: "desk", functions: [pay] }),
    });
    const runs = Array.from({ length: RUNS }, (_, i) => `run ${i}`);

    const answers = await Promise.all(runs.map((run) => system.query(run)));

    for (const [i, run] of runs.entries())
      expect(answers[i]).toMatchObject({
        success: true,
        response: `Paid for ${run}.`,
        warnings: [expect.stringMatching(/^The model did not answer for \d+ s: 4 requests failed/)],
      });
    expect(paid.toSorted()).toEqual(runs);
    expect(await expectSoundRuns(file)).toEqual({ runs: RUNS, succeeded: RUNS });
    printFigure(`provider away after the first turn, ${wire}`, { runs: RUNS, succeeded: RUNS, "ran twice": 0 });
  },
);
