import { expect, test } from "vitest";
import { until } from "@patchbay/test-support/inbox";
import { expectSoundRuns } from "../support/invariants.ts";
import { startDeployment, type FunctionRun } from "../support/processes.ts";
import { startStandIn, type Script } from "@patchbay/test-support/providers";

const LIMIT = 2;
const script: Script = ({ step, query, results }) =>
  step === 0 ? { calls: [{ name: "limited", arguments: { id: query } }] } : { text: results[0]!.content };

/** The most handlers that ran at the same time, by the order in which they began and ended. */
function mostAtOnce(runs: readonly FunctionRun[]): number {
  let running = 0;
  return Math.max(...runs.map(({ name }) => (running += name === "limited" ? 1 : -1)));
}

test("two runtimes never run more handlers of a function than its concurrency, also after a kill of the replica", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using deployment = await startDeployment({ env: standIn.env });
  await deployment.connect();
  await deployment.connect();
  const ids = Array.from({ length: 6 }, (_, i) => `held-${i}`);
  const began = () => deployment.functionRuns().filter(({ name }) => name === "limited");
  const ask = (id: string) => deployment.query(id, {}, { "Idempotency-Key": id });

  const first = ids.map((id) => ask(id).catch(() => undefined));
  await until(() => began().length === LIMIT, "the first handlers");
  await deployment.kill(deployment.serve);
  await Promise.all(first);
  await deployment.restart();
  const answers = Promise.all(ids.map((id) => ask(id)));
  for (let done = 0; done < ids.length; done++) {
    await until(() => began().length === Math.min(ids.length, done + LIMIT), `handler ${done + LIMIT}`);
    await deployment.open(began()[done]!.id);
  }

  for (const { toolInteractions } of await answers) expect(toolInteractions).toMatchObject([{ success: true }]);
  const runs = deployment.functionRuns();
  expect(mostAtOnce(runs)).toBe(LIMIT);
  expect(began()).toHaveLength(ids.length);
  await expectSoundRuns(deployment.databaseFile);
});
