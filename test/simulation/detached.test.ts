import { expect, test } from "vitest";
import type { FaultKind, Plan } from "./plan.ts";
import { simulate } from "./simulate.ts";

const MINUTE_MS = 60_000;
const HALF_HOUR_MS = 30 * MINUTE_MS;

/** One query of a client that waits for its answer; all calls of the model are detached. */
const PLAN: Omit<Plan, "seed" | "faults"> = {
  replicas: 2,
  runtimes: 1,
  queries: 1,
  runTimeoutMs: MINUTE_MS,
  providerTrouble: 0,
  bus: { loss: 0, duplication: 0, delayMs: 2 },
  detached: { share: 1, leastMs: HALF_HOUR_MS, mostMs: HALF_HOUR_MS },
  olderSets: false,
  killAt: [],
};

const faultAt = (minutes: number, kind: FaultKind) => ({ at: minutes * MINUTE_MS, kind, ms: 2_000 });

test.each([
  { killed: "replicas", seed: 18, runtimeAt: [], minutes: 30, detached: { "export succeeded": 1 } },
  {
    killed: "replicas and runtimes",
    seed: 15,
    runtimeAt: [12],
    minutes: 42,
    detached: { "export succeeded": 1, "pay_out outcome_unknown": 1, "pay_out timed_out": 2, "print timed_out": 2 },
  },
])("a detached function of 30 minutes survives kills of $killed", async (row) => {
  const replicas = [4, 8, 28].map((minutes) => faultAt(minutes, "replica killed"));
  const faults = [...replicas, ...row.runtimeAt.map((minutes) => faultAt(minutes, "runtime killed"))];
  const result = await simulate(row.seed, { plan: { ...PLAN, seed: row.seed, faults } });

  expect(result).toMatchObject({ violations: [], ends: { succeeded: 1 }, detached: row.detached });
  expect(result.faults).toEqual({
    "replica killed": 3,
    ...(row.runtimeAt.length > 0 && { "runtime killed": row.runtimeAt.length }),
  });
  expect(result.simulatedMs).toBeGreaterThan(row.minutes * MINUTE_MS);
});
