import { expect, test, vi } from "vitest";
import { until } from "@patchbay/test-support/inbox";
import { expectSoundRuns } from "../support/invariants.ts";
import { printFigure } from "@patchbay/test-support/figures";
import { readDatabase, startDeployment, type Deployment, type Running } from "../support/processes.ts";
import { startStandIn, type Script } from "@patchbay/test-support/providers";

/** Calls the function that the query names with the id `held`, and then answers with its result. */
const script: Script = ({ step, query, results }) =>
  step === 0 ? { calls: [{ name: query, arguments: { id: "held" } }] } : { text: results[0]!.content };

/** Kills the runtime that runs the query's call; another one stays connected. */
async function killInMidCall(deployment: Deployment, runtimes: Running[], query: string) {
  const asked = deployment.query(query);
  await until(() => deployment.functionRuns().length === 1, "the call");
  const victim = runtimes.find(({ process }) => process.pid === deployment.functionRuns()[0]?.pid)!;
  await deployment.kill(victim);
  return { asked };
}

test.concurrent("a call whose runtime is killed ends as unknown, and is not repeated", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using deployment = await startDeployment({ env: standIn.env });
  const runtimes = [await deployment.connect(), await deployment.connect()];

  const { asked } = await killInMidCall(deployment, runtimes, "charge");
  const answer = await asked;

  expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: false, code: "outcome_unknown" }] });
  expect(answer.response).toContain("may have run");
  expect(deployment.functionRuns()).toHaveLength(1);
  await expectSoundRuns(deployment.databaseFile);
});

test.concurrent("an idempotent call goes to another runtime under its id", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using deployment = await startDeployment({ env: standIn.env });
  const runtimes = [await deployment.connect(), await deployment.connect()];

  const { asked } = await killInMidCall(deployment, runtimes, "fetch_record");
  await deployment.open("held");

  expect(await asked).toMatchObject({ success: true, toolInteractions: [{ success: true, result: { id: "held" } }] });
  const [first, second, ...more] = deployment.functionRuns();
  expect(second).toMatchObject({ callId: first?.callId, attempt: 2 });
  expect(second?.pid).not.toBe(first?.pid);
  expect(more).toEqual([]);
  await expectSoundRuns(deployment.databaseFile);
});

test.concurrent.each([
  ["charged", ["charged", "reconcile"], { success: true, result: { did: "found" } }],
  ["uncharged", ["uncharged", "reconcile", "uncharged"], { success: true, result: { did: "uncharged" } }],
  ["unclear", ["unclear", "reconcile"], { success: false, code: "outcome_unknown" }],
])("a call of %s whose runtime is killed asks once what it did", async (query, steps, interaction) => {
  await using standIn = await startStandIn("anthropic", script);
  await using deployment = await startDeployment({ env: standIn.env });
  const runtimes = [await deployment.connect(), await deployment.connect()];

  const { asked } = await killInMidCall(deployment, runtimes, query);
  await deployment.open("held");

  expect(await asked).toMatchObject({ success: true, toolInteractions: [interaction] });
  const runs = deployment.functionRuns();
  expect(runs.map(({ name }) => name)).toEqual(steps);
  expect(new Set(runs.map(({ callId }) => callId)).size).toBe(1);
  await expectSoundRuns(deployment.databaseFile);
});

const VICTIMS = 10;
/** Number of queries for each of the two functions. */
const QUERIES = 100;

test("of 200 calls of killed runtimes only idempotent ones run twice, and each ends", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using deployment = await startDeployment({ env: standIn.env });
  const victims = [];
  for (let index = 0; index < VICTIMS; index += 2)
    victims.push(
      ...(await Promise.all([deployment.connect("--concurrency", "50"), deployment.connect("--concurrency", "50")])),
    );
  let endedAt = 0;
  const ask = async (query: string) => {
    const answer = await deployment.query(query);
    endedAt = Math.max(endedAt, performance.now());
    return answer;
  };
  const charges = Array.from({ length: QUERIES }, () => ask("charge"));
  const fetches = Array.from({ length: QUERIES }, () => ask("fetch_record"));
  const asked = Promise.all([Promise.all(charges), Promise.all(fetches)]);
  await vi.waitFor(() => expect(deployment.functionRuns()).toHaveLength(2 * QUERIES));
  expect(new Set(deployment.functionRuns().map(({ pid }) => pid)).size).toBe(VICTIMS);

  const heir = await deployment.connect("--concurrency", "100");
  const killedAt = performance.now();
  await Promise.all(victims.map((victim) => deployment.kill(victim)));
  await deployment.open("held");
  const [unknown, repeated] = await asked;
  const tookMs = Math.round(endedAt - killedAt);

  for (const answer of unknown)
    expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: false, code: "outcome_unknown" }] });
  for (const answer of repeated) expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: true }] });
  const runs = deployment.functionRuns();
  expect(runs.filter(({ name }) => name === "charge")).toHaveLength(QUERIES);
  const attempts = Map.groupBy(
    runs.filter(({ name }) => name === "fetch_record"),
    ({ callId }) => callId,
  );
  expect(attempts.size).toBe(QUERIES);
  for (const tried of attempts.values()) {
    expect(tried.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(tried[1]?.pid).toBe(heir.process.pid);
  }
  printFigure("runtime killed in mid-call", {
    calls: QUERIES,
    "run twice": 0,
    unknown: QUERIES,
    "answered in ms": tookMs,
  });
  printFigure("idempotent calls of killed runtimes", {
    calls: QUERIES,
    succeeded: repeated.length,
    "attempts at most": 2,
  });
  await expectSoundRuns(deployment.databaseFile);
  using database = readDatabase(deployment.databaseFile);
  expect(database.rows("select id from calls where outcome is not null")).toHaveLength(2 * QUERIES);
  await until(() => standIn.requests.length === 4 * QUERIES, "no further turn");
});
