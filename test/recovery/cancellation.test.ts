import { randomInt } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { expect, test } from "vitest";
import { createDice } from "../../examples/retail-desk/data/dice.ts";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { printFigure, quantile } from "@patchbay/test-support/figures";
import { until } from "@patchbay/test-support/inbox";
import { expectNothingKept, expectSoundRuns } from "../support/invariants.ts";
import { readDatabase } from "../support/processes.ts";
import { readAlong } from "@patchbay/test-support/reader";
import { startSystem } from "@patchbay/test-support/system";
import { twoSteps } from "../support/call-models.ts";

const RUNS = 1_000;
const AT_ONCE = 8;

/** A service with slow calls, which counts the calls that are aborted. */
function slowService() {
  const counts = { begun: 0, stopped: 0, ended: 0 };
  const lookUp = defineFunction({
    name: "look_up",
    description: "Looks something up.",
    input: { type: "object", properties: { id: { type: "number" } } },
    roles: everyone,
    async handler(_input, { signal }) {
      counts.begun++;
      signal.addEventListener("abort", () => counts.stopped++);
      await sleep(30, undefined, { signal }).finally(() => counts.ended++);
      return "found";
    },
  });
  return { service: defineService({ name: "slow", functions: [lookUp] }), counts };
}

test("1,000 runs cancelled at random moments end soon, and have no event after their end", async () => {
  const seed = randomInt(2 ** 31);
  const dice = createDice(seed);
  process.stderr.write(`cancellation: seed ${seed}\n`);
  await using folder = await temporaryFolder();
  const file = join(folder.path, "data.db");
  const { service, counts } = slowService();
  await using system = await startSystem({ database: `sqlite:${file}`, model: twoSteps() });
  const runtime = await system.connect(service, { concurrency: 100 });
  const path = `/agents/${system.agentId}`;
  const endedInMs: number[] = [];
  let cancelled = 0;

  /** Cancels a run at a random one of its first eight events, or before the first. */
  async function cancelSomewhere(): Promise<void> {
    const reader = readAlong(await system.post(`${path}/query-stream`, { query: "hi" }));
    const event = dice.between(0, 8);
    if (event > 0) await reader.seen(new RegExp(`^id: ${event}$`, "m"));
    const askedAt = performance.now();
    const response = await system.post(`${path}/runs/${reader.runId}/cancel`, {});
    expect(await reader.over).toBe(true);
    const endings = reader.text.match(/"type":"(finalResponse|error)"/g);
    expect(endings).toHaveLength(1);
    expect(reader.text.trimEnd().split("\n\n").at(-1)).toMatch(/"type":"(finalResponse|error)"/);
    // The cancellation of a run that had ended reports its status.
    if (response.status === 202 && !reader.text.includes('"type":"finalResponse"')) {
      expect(reader.text).toContain('"code":"cancelled"');
      endedInMs.push(performance.now() - askedAt);
      cancelled++;
    }
    await response.text();
  }
  let left = RUNS;
  const worker = async (): Promise<void> => {
    while (left-- > 0) await cancelSomewhere();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));

  await until(() => counts.ended === counts.begun, "the end of every handler");
  // Without notifications a run would see its cancellation at its next lease renewal, and most would have succeeded before.
  expect(cancelled).toBeGreaterThan(RUNS / 2);
  expect(counts.stopped).toBeGreaterThan(RUNS / 10);
  expect(await expectSoundRuns(file)).toEqual({ runs: RUNS, succeeded: RUNS - cancelled });
  using database = readDatabase(file);
  expect(database.rows("select id from runs where status = 'cancelled'")).toHaveLength(cancelled);
  printFigure("cancel at random points", {
    runs: RUNS,
    cancelled,
    "p99 ms": Math.round(quantile(endedInMs, 0.99)),
    "worst ms": Math.round(Math.max(...endedInMs)),
    "handlers aborted": counts.stopped,
  });
  await expectNothingKept(runtime);
});
