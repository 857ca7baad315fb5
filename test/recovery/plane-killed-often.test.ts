import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, defineFunction, defineService, everyone, silentLog } from "@patchbay/functions";
import { expect, test, vi } from "vitest";
import { createDice } from "../../examples/retail-desk/data/dice.ts";
import { expectSoundRuns } from "../support/invariants.ts";
import { startDeployment, type Deployment } from "../support/processes.ts";
import { startStandIn, type Script } from "../support/providers/index.ts";
import { readAlong, type Reader } from "../support/reader.ts";

vi.setConfig({ testTimeout: 180_000 });

const ROUNDS = 12;
const RUNS_A_ROUND = 8;
/** A run takes about this long when nobody kills its control plane. */
const RUN_MS = 400;

/** Three turns with calls, side by side and alone, each answer a moment late. */
const script: Script = ({ step, query }) => {
  const call = (name: string, id: string) => ({ name, arguments: { id: `${query} ${step} ${id}` } });
  const delayMs = 30;
  if (step === 0)
    return { delayMs, thoughts: ["Look first."], calls: [call("fetch_record", "a"), call("charge", "b")] };
  if (step === 1) return { delayMs, text: "And now?", calls: [call("charge", "c")] };
  if (step === 2) return { delayMs, calls: [call("charge", "d"), call("charge", "e"), call("fetch_record", "f")] };
  return { delayMs, text: `Done: ${query}.` };
};

/** Functions that take a moment, and count their runs. */
function countingService(runs: string[]) {
  const counted = (name: string, more: object) =>
    defineFunction({
      name,
      description: `Does ${name}.`,
      input: { type: "object", properties: { id: { type: "string" } } },
      roles: everyone,
      ...more,
      async handler(input: { id?: string }) {
        runs.push(`${name} ${input.id}`);
        await sleep(40);
        return { id: input.id };
      },
    });
  return defineService({
    name: "counting",
    functions: [counted("charge", {}), counted("fetch_record", { idempotent: true })],
  });
}

async function ask(desk: Deployment, query: string): Promise<Reader> {
  return readAlong(await desk.post(`/agents/${desk.agentId}/query-stream`, { query }));
}

/** The run's whole log, waited for. */
async function followed(desk: Deployment, runId: string): Promise<Reader> {
  const reader = readAlong(await desk.get(`/agents/${desk.agentId}/runs/${runId}/events`));
  expect(await reader.over).toBe(true);
  return reader;
}

test("whenever the control plane is killed, nothing is lost and nothing runs twice", async () => {
  const seed = randomInt(2 ** 31);
  const dice = createDice(seed);
  process.stderr.write(`plane-killed-often: seed ${seed}\n`);
  await using standIn = await startStandIn("openai-chat", script);
  await using desk = await startDeployment({ env: standIn.env });
  const ran: string[] = [];
  const { url, agentId, runtimeKey: key } = desk;
  const runtime = connect(countingService(ran), {
    url,
    agentId,
    key,
    log: silentLog,
    backoff: { firstMs: 20, baseMs: 50, maxMs: 200 },
    concurrency: 64,
  });
  await using _ = { [Symbol.asyncDispose]: () => runtime.stop({ drainMs: 0 }) };
  await runtime.ready;

  const readers: Reader[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const asked = Array.from({ length: RUNS_A_ROUND }, (_, index) => ask(desk, `r${round}.${index}`));
    readers.push(...(await Promise.all(asked)));
    await sleep(dice.between(0, RUN_MS));
    await desk.kill(desk.serve);
    await desk.restart();
    // Runs in progress at two kills are resumed one at a time: let them end before the next kill.
    if (round % 2 === 1) await Promise.all(readers.map(({ runId }) => followed(desk, runId)));
  }

  let received = 0;
  for (const reader of readers) {
    await reader.over;
    received += reader.lastId;
    const resumed = await followed(desk, reader.runId);
    expect(resumed.text.slice(0, reader.text.length)).toBe(reader.text);
    expect(resumed.text).toContain('"type":"finalResponse"');
    expect(resumed.text).not.toContain("outcome_unknown");
  }
  expect(received).toBeGreaterThan(ROUNDS * RUNS_A_ROUND);
  expect(expectSoundRuns(desk.databaseFile)).toEqual({ runs: readers.length, succeeded: readers.length });
  const charges = ran.filter((one) => one.startsWith("charge"));
  expect(charges).toHaveLength(4 * readers.length);
  expect(new Set(charges).size).toBe(charges.length);
});
