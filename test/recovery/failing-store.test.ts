import { randomInt } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { expect, test } from "vitest";
import { createDice } from "../../examples/retail-desk/data/dice.ts";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { troubleStore, type Trouble } from "../support/failing-store.ts";
import { printFigure } from "@patchbay/test-support/figures";
import { expectSoundRuns } from "../support/invariants.ts";
import { startSystem } from "@patchbay/test-support/system";
import { twoSteps } from "../support/call-models.ts";

const AT_ONCE = 30;

type System = Awaited<ReturnType<typeof startSystem>>;

/** Queries like a client that retries: the same query under the same key. */
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

/** Queries a system whose store fails, and waits for the end of every run. */
async function runInTrouble(trouble: Trouble, runs: number) {
  const seed = randomInt(2 ** 31);
  process.stderr.write(`failing-store: seed ${seed} for ${JSON.stringify(trouble)}\n`);
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

  using troubled = troubleStore(system.plane.store, createDice(seed), trouble);
  let next = 0;
  const answers: { text: string; refusals: number }[] = [];
  const client = async (): Promise<void> => {
    while (next < runs) answers.push(await ask(system, next++));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));

  for (const { text } of answers) expect(text).toMatch(/"response":"Done\."/);
  return {
    failed: troubled.failed,
    met: troubled.met.size,
    refused: answers.filter(({ refusals }) => refusals > 0).length,
    ran,
    ...(await expectSoundRuns(file)),
  };
}

test.concurrent("with a store that is slow and fails at random, every run ends and all invariants hold", async () => {
  const { failed, met, refused, ran, runs, succeeded } = await runInTrouble({ fails: 0.05, slow: 0.1 }, 1_000);

  expect(failed).toBeGreaterThan(500);
  expect(refused).toBeGreaterThan(0);
  expect({ runs, succeeded }).toEqual({ runs: 1_000, succeeded: 1_000 });
  expect(ran).toHaveLength(4 * runs);
  expect(new Set(ran).size).toBe(ran.length);
  printFigure("store fails and is slow at random", { runs, failures: failed, methods: met, "calls run twice": 0 });
});

test.concurrent("a write that the store applied before it failed is not repeated", async () => {
  const { failed, ran, runs, succeeded } = await runInTrouble({ failsAfter: 0.02 }, 300);

  expect(failed).toBeGreaterThan(5);
  expect({ runs, succeeded }).toEqual({ runs: 300, succeeded: 300 });
  expect(ran).toHaveLength(4 * runs);
  expect(new Set(ran).size).toBe(ran.length);
});
