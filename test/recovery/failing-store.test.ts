import { randomInt } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { expect, test } from "vitest";
import { createDice } from "../../examples/retail-desk/data/dice.ts";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { troubleStore } from "../support/failing-store.ts";
import { until } from "../support/inbox.ts";
import { expectSoundRuns } from "../support/invariants.ts";
import { startSystem } from "../support/system.ts";
import { twoSteps } from "../support/two-steps.ts";

const RUNS = 300;
const AT_ONCE = 30;

type System = Awaited<ReturnType<typeof startSystem>>;

/** Asks as a client does that is told to try again: the same query under the same key. */
async function ask(system: System, index: number): Promise<{ text: string; refusals: number }> {
  const endpoint = index % 2 === 0 ? "query" : "query-stream";
  for (let refusals = 0; ; refusals++) {
    const key = { "idempotency-key": `query-${index}` };
    const response = await system.post(`/agents/${system.agentId}/${endpoint}`, { query: "hi" }, key);
    const text = await response.text();
    if (response.status === 200) return { text, refusals };
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("1");
    await sleep(20);
  }
}

test("with a store that fails and is slow at random every run ends, and no promise is broken", async () => {
  const seed = randomInt(2 ** 31);
  process.stderr.write(`failing-store: seed ${seed}\n`);
  await using folder = await temporaryFolder();
  const file = join(folder.path, "data.db");
  const ran: string[] = [];
  const lookUp = defineFunction({
    name: "look_up",
    description: "Looks something up.",
    input: { type: "object", properties: { id: { type: "number" } } },
    roles: everyone,
    handler: (_input, { callId }) => void ran.push(callId),
  });
  const service = defineService({ name: "look-up", functions: [lookUp] });
  await using system = await startSystem({ database: `sqlite:${file}`, model: twoSteps(), service });
  const { store } = system.plane;

  const trouble = troubleStore(store, createDice(seed), { fails: 0.05, slow: 0.1, slowMs: 20 });
  let next = 0;
  const answers: { text: string; refusals: number }[] = [];
  const client = async (): Promise<void> => {
    while (next < RUNS) answers.push(await ask(system, next++));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  trouble[Symbol.dispose]();
  const running = async () => (await store.runs.list(system.agentId, { limit: 1_000 })).some((run) => !run.finishedAt);
  await until(async () => !(await running()), "the end of every run");

  expect(trouble.counts.failed).toBeGreaterThan(RUNS / 2);
  expect(answers.filter(({ refusals }) => refusals > 0).length).toBeGreaterThan(0);
  for (const { text } of answers) expect(text).toMatch(/"response":"Done\."/);
  expect(expectSoundRuns(file)).toEqual({ runs: RUNS, succeeded: RUNS });
  expect(ran).toHaveLength(4 * RUNS);
  expect(new Set(ran).size).toBe(ran.length);
});
