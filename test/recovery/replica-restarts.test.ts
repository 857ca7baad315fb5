import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, defineFunction, defineService, everyone, type Log, silentLog } from "@patchbay/functions";
import { expect, test } from "vitest";
import { createDice } from "../../examples/retail-desk/data/dice.ts";
import { expectSoundRuns } from "../support/invariants.ts";
import { type Deployment, startDeployment } from "../support/processes.ts";
import { callThenAnswer, type Script, startStandIn } from "@patchbay/test-support/providers";
import { readAlong, type Reader } from "@patchbay/test-support/reader";
import { LIMITS } from "@patchbay/protocol";
import { fakeService } from "@patchbay/test-support/fake-service";

const ROUNDS = 12;
const RUNS_A_ROUND = 8;
/** The usual duration of a run whose control plane is not killed. */
const RUN_MS = 400;

/** Three turns with parallel and single calls; each answer has a short delay. */
const script: Script = ({ step, query }) => {
  const call = (name: string, id: string) => ({ name, arguments: { id: `${query} ${step} ${id}` } });
  const delayMs = 30;
  if (step === 0)
    return { delayMs, thoughts: ["Look first."], calls: [call("fetch_record", "a"), call("charge", "b")] };
  if (step === 1) return { delayMs, text: "And now?", calls: [call("charge", "c")] };
  if (step === 2) return { delayMs, calls: [call("charge", "d"), call("charge", "e"), call("fetch_record", "f")] };
  return { delayMs, text: `Done: ${query}.` };
};

/** Slow functions that record their runs. */
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

async function ask(deployment: Deployment, query: string): Promise<Reader> {
  return readAlong(await deployment.post(`/agents/${deployment.agentId}/query-stream`, { query }));
}

/** Reads the complete log of the run, up to its end. */
async function followed(deployment: Deployment, runId: string): Promise<Reader> {
  const reader = readAlong(await deployment.get(`/agents/${deployment.agentId}/runs/${runId}/events`));
  expect(await reader.over).toBe(true);
  return reader;
}

test("a control plane killed at random moments loses nothing and runs no function twice", async () => {
  const seed = randomInt(2 ** 31);
  const dice = createDice(seed);
  process.stderr.write(`replica-restarts: seed ${seed}\n`);
  await using standIn = await startStandIn("openai-chat", script);
  await using deployment = await startDeployment({ env: standIn.env });
  const ran: string[] = [];
  const { url, agentId, runtimeKey: key } = deployment;
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
    const asked = Array.from({ length: RUNS_A_ROUND }, (_, index) => ask(deployment, `r${round}.${index}`));
    const opened = await Promise.all(asked);
    readers.push(...opened);
    // On a slow machine the kill would otherwise often come before any event.
    await Promise.any(opened.map((reader) => reader.seen(/^id: 1$/m)));
    await sleep(dice.between(0, RUN_MS));
    await deployment.kill(deployment.serve);
    await deployment.restart();
    // Runs in progress at two kills are resumed one at a time: let them end before the next kill.
    if (round % 2 === 1) await Promise.all(readers.map(({ runId }) => followed(deployment, runId)));
  }

  for (const reader of readers) {
    await reader.over;
    const resumed = await followed(deployment, reader.runId);
    expect(resumed.text.slice(0, reader.text.length)).toBe(reader.text);
    expect(resumed.text).toContain('"type":"finalResponse"');
    expect(resumed.text).not.toContain("outcome_unknown");
  }
  expect(await expectSoundRuns(deployment.databaseFile)).toEqual({ runs: readers.length, succeeded: readers.length });
  const charges = ran.filter((one) => one.startsWith("charge"));
  expect(charges).toHaveLength(4 * readers.length);
  expect(new Set(charges).size).toBe(charges.length);
});

const RESTARTS = 4;
const QUERIES = 3;

test("queries right after each of several quick restarts find their runtime, which reconnects after short pauses", async () => {
  await using standIn = await startStandIn("openai-chat", callThenAnswer([{ name: "charge", arguments: { id: "1" } }]));
  await using deployment = await startDeployment({ env: standIn.env });
  const pauses: number[] = [];
  const noted = (_message: string, { retryInMs }: Record<string, unknown> = {}) => {
    if (typeof retryInMs === "number") pauses.push(retryInMs);
  };
  const log: Log = { ...silentLog, info: noted, warn: noted, error: noted, child: () => log };
  const { url, agentId, runtimeKey: key } = deployment;
  const runtime = connect(fakeService({ functions: ["charge"] }), { url, agentId, key, log });
  await using _ = { [Symbol.asyncDispose]: () => runtime.stop({ drainMs: 0 }) };
  await runtime.ready;

  const answers = [];
  for (let restart = 0; restart < RESTARTS; restart++) {
    deployment.serve.process.kill("SIGTERM");
    await deployment.serve.finished;
    await deployment.restart();
    answers.push(...(await Promise.all(Array.from({ length: QUERIES }, () => deployment.query("Charge order 1")))));
  }

  expect(answers.map(({ success, code }) => code ?? success)).toEqual(answers.map(() => true));
  expect(Math.max(...pauses)).toBeLessThanOrEqual(LIMITS.runtimeReturnMs);
  expect(pauses.length).toBeGreaterThanOrEqual(RESTARTS);
  expect(await expectSoundRuns(deployment.databaseFile)).toEqual({ runs: answers.length, succeeded: answers.length });
});
