import { expect, test } from "vitest";
import { until } from "@patchbay/test-support/inbox";
import { expectSoundRuns } from "../support/invariants.ts";
import { readDatabase, startDeployment, type Deployment, type Running } from "../support/processes.ts";
import { startStandIn, type Script } from "@patchbay/test-support/providers";

const script: Script = ({ step, query, results }) =>
  step === 0 ? { calls: [{ name: query, arguments: { id: "1" } }] } : { text: results[0]!.content };

/** Resolves once the call waits for this attempt or has begun it. */
async function attemptStored({ databaseFile }: Deployment, attempt: number): Promise<void> {
  using database = readDatabase(databaseFile);
  const stored = () => database.rows<{ attempt: number }>("select attempt from calls")[0]?.attempt;
  await until(() => (stored() ?? 0) >= attempt, `attempt ${attempt}`);
}

/** Kills the process that last ran a function. */
async function killLast(deployment: Deployment, runtimes: Running[]): Promise<void> {
  const { pid } = deployment.functionRuns().at(-1)!;
  await deployment.kill(runtimes.find(({ process }) => process.pid === pid)!);
}

test.concurrent("a call with retries starts at most `max` handlers, also if runtimes are killed between the attempts", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using deployment = await startDeployment({ env: standIn.env });
  const runtimes = [await deployment.connect(), await deployment.connect(), await deployment.connect()];

  const asked = deployment.query("flaky");
  await attemptStored(deployment, 2);
  await killLast(deployment, runtimes);
  await until(() => deployment.functionRuns().length >= 2, "the second attempt");
  await killLast(deployment, runtimes);
  const answer = await asked;

  expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: false, code: "function_failed" }] });
  const runs = deployment.functionRuns();
  expect(runs.length).toBeLessThanOrEqual(3);
  expect(runs.length).toBeGreaterThanOrEqual(2);
  expect(new Set(runs.map(({ callId }) => callId)).size).toBe(1);
  await expectSoundRuns(deployment.databaseFile);
});

test.concurrent("a replica killed between two attempts continues with the next one and does not repeat the first", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using deployment = await startDeployment({ env: standIn.env });
  await deployment.connect();

  const once = { "Idempotency-Key": "once" };
  const asked = deployment.query("flaky", {}, once).catch(() => undefined);
  await attemptStored(deployment, 2);
  await deployment.kill(deployment.serve);
  await asked;
  await deployment.restart();
  const answer = await deployment.query("flaky", {}, once);

  expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: false, code: "function_failed" }] });
  expect(deployment.functionRuns().length).toBe(3);
  await expectSoundRuns(deployment.databaseFile);
});

test.concurrent("a write that fails with a RetryableError starts one handler", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using deployment = await startDeployment({ env: standIn.env });
  await deployment.connect();

  const answer = await deployment.query("flaky_charge");

  expect(answer.toolInteractions).toMatchObject([{ success: false, code: "function_failed" }]);
  expect(deployment.functionRuns()).toHaveLength(1);
});
