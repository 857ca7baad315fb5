import { expect, test, vi } from "vitest";
import { printFigure } from "../support/figure.ts";
import { until } from "../support/inbox.ts";
import { expectSoundRuns } from "../support/invariants.ts";
import { readDatabase, startDeployment } from "../support/processes.ts";
import { startStandIn, type Script } from "../support/providers/index.ts";

vi.setConfig({ testTimeout: 120_000 });

const VICTIMS = 10;
/** Queries for each of the two functions. */
const QUERIES = 100;

/** Calls the function that the query names, once, and tells what came of it. */
const script: Script = ({ step, query, results }) =>
  step === 0
    ? { calls: [{ name: query.split(" ")[0]!, arguments: { id: "held" } }] }
    : { text: `Heard: ${results[0]!.content}` };

test("of 200 calls lost with their killed runtimes none runs twice unless it may, and each ends", async () => {
  await using standIn = await startStandIn("anthropic", script);
  await using desk = await startDeployment({ env: standIn.env });
  const victims = [];
  for (let index = 0; index < VICTIMS; index += 2)
    victims.push(...(await Promise.all([desk.connect("--concurrency", "50"), desk.connect("--concurrency", "50")])));
  let endedAt = 0;
  const ask = async (query: string) => {
    const answer = await desk.query(query);
    endedAt = Math.max(endedAt, performance.now());
    return answer;
  };
  const charges = Array.from({ length: QUERIES }, (_, index) => ask(`charge ${index}`));
  const fetches = Array.from({ length: QUERIES }, (_, index) => ask(`fetch_record ${index}`));
  const asked = Promise.all([Promise.all(charges), Promise.all(fetches)]);
  await vi.waitFor(() => expect(desk.functionRuns()).toHaveLength(2 * QUERIES), { timeout: 30_000 });
  expect(new Set(desk.functionRuns().map(({ pid }) => pid)).size).toBe(VICTIMS);

  const heir = await desk.connect("--concurrency", "100");
  const killedAt = performance.now();
  await Promise.all(victims.map((victim) => desk.kill(victim)));
  await desk.open("held");
  const [unknown, repeated] = await asked;
  const tookMs = Math.round(endedAt - killedAt);

  for (const answer of unknown)
    expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: false, code: "outcome_unknown" }] });
  for (const answer of repeated) expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: true }] });
  const runs = desk.functionRuns();
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
  printFigure("8 runtime killed in mid-call", {
    calls: QUERIES,
    "run twice": 0,
    unknown: QUERIES,
    "answered in ms": tookMs,
  });
  printFigure("9 the same, idempotent", { calls: QUERIES, succeeded: repeated.length, "attempts at most": 2 });
  expectSoundRuns(desk.databaseFile);
  using database = readDatabase(desk.databaseFile);
  expect(database.rows("select id from calls where outcome is not null")).toHaveLength(2 * QUERIES);
  await until(() => standIn.requests.length === 4 * QUERIES, "no further turn");
});
