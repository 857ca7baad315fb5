import { expect, test, vi } from "vitest";
import { until } from "../support/inbox.ts";
import { expectSoundRuns } from "../support/invariants.ts";
import { startDeployment, type Deployment, type Running } from "../support/processes.ts";
import { startStandIn, type Script } from "../support/providers/index.ts";

vi.setConfig({ testTimeout: 60_000 });

/** Calls the function that the query names for the id `held`, and then tells what came of it. */
const script: Script = ({ step, query, results }) =>
  step === 0 ? { calls: [{ name: query, arguments: { id: "held" } }] } : { text: results[0]!.content };

/** Kills the runtime that runs the query's call, with another one connected beside it. */
async function killInMidCall(desk: Deployment, runtimes: Running[], query: string) {
  const asked = desk.query(query);
  await until(() => desk.functionRuns().length === 1, "the call");
  const victim = runtimes.find(({ process }) => process.pid === desk.functionRuns()[0]?.pid)!;
  await desk.kill(victim);
  return { asked };
}

test.concurrent(
  "a call that was lost with its runtime ends as unknown, and is not made again",
  { timeout: 60_000 },
  async () => {
    await using standIn = await startStandIn("anthropic", script);
    await using desk = await startDeployment({ env: standIn.env });
    const runtimes = [await desk.connect(), await desk.connect()];

    const { asked } = await killInMidCall(desk, runtimes, "charge");
    const answer = await asked;

    expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: false, code: "outcome_unknown" }] });
    expect(answer.response).toContain("may have run");
    expect(desk.functionRuns()).toHaveLength(1);
    expectSoundRuns(desk.databaseFile);
  },
);

test.concurrent("a call that may be repeated goes to another runtime under its id", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using desk = await startDeployment({ env: standIn.env });
  const runtimes = [await desk.connect(), await desk.connect()];

  const { asked } = await killInMidCall(desk, runtimes, "fetch_record");
  await desk.open("held");

  expect(await asked).toMatchObject({ success: true, toolInteractions: [{ success: true, result: { id: "held" } }] });
  const [first, second, ...more] = desk.functionRuns();
  expect(second).toMatchObject({ callId: first?.callId, attempt: 2 });
  expect(second?.pid).not.toBe(first?.pid);
  expect(more).toEqual([]);
  expectSoundRuns(desk.databaseFile);
});
