import { connect, silentLog, type Log } from "@patchbay/functions";
import { LIMITS } from "@patchbay/protocol";
import { expect, test, vi } from "vitest";
import { handService } from "../support/hand-service.ts";
import { expectSoundRuns } from "../support/invariants.ts";
import { startDeployment } from "../support/processes.ts";
import { callThenAnswer, startStandIn } from "../support/providers/index.ts";

vi.setConfig({ testTimeout: 120_000 });

const RESTARTS = 4;
const QUERIES = 3;

test("queries right after each of several quick restarts find their runtime, which is never away for long", async () => {
  await using standIn = await startStandIn("openai-chat", callThenAnswer([{ name: "charge", arguments: { id: "1" } }]));
  await using desk = await startDeployment({ env: standIn.env });
  const pauses: number[] = [];
  const noted = (_message: string, { retryInMs }: Record<string, unknown> = {}) => {
    if (typeof retryInMs === "number") pauses.push(retryInMs);
  };
  const log: Log = { ...silentLog, info: noted, warn: noted, error: noted, child: () => log };
  const { url, agentId, runtimeKey: key } = desk;
  const runtime = connect(handService({ functions: ["charge"] }), { url, agentId, key, log });
  await using _ = { [Symbol.asyncDispose]: () => runtime.stop({ drainMs: 0 }) };
  await runtime.ready;

  const answers = [];
  for (let restart = 0; restart < RESTARTS; restart++) {
    desk.serve.process.kill("SIGTERM");
    await desk.serve.finished;
    await desk.restart();
    answers.push(...(await Promise.all(Array.from({ length: QUERIES }, () => desk.query("Charge order 1")))));
  }

  expect(answers.map(({ success, code }) => code ?? success)).toEqual(answers.map(() => true));
  expect(Math.max(...pauses)).toBeLessThanOrEqual(LIMITS.runtimeReturnMs);
  expect(pauses.length).toBeGreaterThanOrEqual(RESTARTS);
  expect(expectSoundRuns(desk.databaseFile)).toEqual({ runs: answers.length, succeeded: answers.length });
});
