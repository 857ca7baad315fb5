import type { BusWeather } from "./bus.ts";
import { createRandom } from "@patchbay/test-support/random";
import type { KillAt } from "./store.ts";

/** A fault at a time. `ms`: how long it lasts. */
export interface PlannedFault {
  at: number;
  kind: FaultKind;
  ms: number;
}

export const FAULTS = [
  "replica killed",
  "replica frozen",
  "replica clock step",
  "replica store lost",
  "store lost",
  "disk full",
  "runtime killed in a call",
  "runtime killed",
  "runtime frozen",
  "connection cut",
  "provider away",
  "partition",
] as const;
export type FaultKind = (typeof FAULTS)[number];

/** What happens in a simulation, as far as it is known before. */
export interface Plan {
  seed: number;
  replicas: number;
  runtimes: number;
  queries: number;
  runTimeoutMs: number;
  /** The share of a provider's attempts that fail. */
  providerTrouble: number;
  bus: BusWeather;
  /** Which of the model's calls are of detached functions. Absent: none. */
  detached?: { share: number; leastMs: number; mostMs: number };
  /** Some restarted runtimes offer an older function set. */
  olderSets: boolean;
  /** The kill of a replica's first process, by replica. */
  killAt: (KillAt | undefined)[];
  faults: PlannedFault[];
}

/** Kills from outside in a virtual hour; a simulation lasts less. More could let innocent runs end as `crash_loop`. */
export const MOST_KILLS = 3;
const FAULTS_UNTIL_MS = 20_000;

export function planOf(seed: number): Plan {
  const random = createRandom(seed, 1);
  const replicas = random.pick([1, 1, 2, 2, 3]);
  const isCalm = random.chance(0.05);
  let kills = MOST_KILLS;
  const killAt = Array.from({ length: replicas }, () => {
    if (isCalm || kills === 0 || random.chance(0.5)) return undefined;
    kills--;
    return { call: 20 + random.below(400), applied: random.chance(0.5) };
  });
  const faults = Array.from({ length: isCalm ? 0 : random.below(10) }, (): PlannedFault => ({
    at: random.between(1_000, FAULTS_UNTIL_MS),
    kind: random.pick(FAULTS),
    ms: random.between(500, 25_000),
  })).filter(({ kind }) => kind !== "replica killed" || kills-- > 0);
  const apart = createRandom(seed, 3);
  return {
    seed,
    replicas,
    runtimes: 1 + random.below(4),
    queries: 3 + random.below(8),
    runTimeoutMs: random.pick([60_000, 120_000, 240_000]),
    providerTrouble: random.pick([0, 0, 0.02, 0.1]),
    bus: {
      loss: random.pick([0, 0, 0.02, 0.2]),
      duplication: random.pick([0, 0.05]),
      delayMs: random.pick([2, 20, 500]),
    },
    ...(apart.chance(0.2) && { detached: { share: 0.3, leastMs: 2_000, mostMs: apart.pick([20_000, 90_000]) } }),
    olderSets: random.chance(0.3),
    killAt,
    faults,
  };
}
