import { adoptedCalls, killedReplicas, pausedReplica, rollingRestart, wrongClocks } from "./replica-faults.ts";
import { failingDisk, fullDisk, restartedPostgres, stoppedPostgres } from "./database-faults.ts";
import { cutFromBus, cutFromDatabase, killedBus } from "./network-faults.ts";
import {
  drainedRuntime,
  killedRuntimes,
  movedConnections,
  reconnectedFleet,
  redeliveredCalls,
  restartedRuntimes,
} from "./runtime-faults.ts";
import { fairShare } from "./fair-share.ts";
import { hostileSchemas } from "./hostile-schemas.ts";

import { idleStreams } from "./idle-streams.ts";

import { limitedCalls, reconciledCalls, retriedCalls } from "./call-options.ts";
import { rateLimit, spentCredits } from "./account-limits.ts";
import { repeatedKey, resumedStreams } from "./repeated-requests.ts";

import type { Scenario } from "./scenario.ts";
import { soak } from "./soak.ts";

import { waitingRuns } from "./waiting-runs.ts";

import { throughput } from "./throughput.ts";
import { embeddedUpgrade, rollingUpgrade } from "./upgrades.ts";

/** The scenarios of the long lane, with the size for which the figures are guaranteed. Default seconds: the lane's. */
export const LONG: readonly { scenario: Scenario; terms: { rate: number; seconds?: number } }[] = [
  { scenario: killedReplicas, terms: { rate: 50 } },
  { scenario: pausedReplica, terms: { rate: 20 } },
  { scenario: restartedPostgres, terms: { rate: 20 } },
  { scenario: stoppedPostgres, terms: { rate: 2, seconds: 60 } },
  { scenario: killedBus, terms: { rate: 50, seconds: 20 } },
  { scenario: cutFromDatabase, terms: { rate: 20, seconds: 30 } },
  { scenario: cutFromBus, terms: { rate: 20, seconds: 20 } },
  { scenario: adoptedCalls, terms: { rate: 10 } },
  { scenario: killedRuntimes, terms: { rate: 50 } },
  { scenario: redeliveredCalls, terms: { rate: 50 } },
  { scenario: retriedCalls, terms: { rate: 50 } },
  { scenario: reconciledCalls, terms: { rate: 20 } },
  { scenario: limitedCalls, terms: { rate: 100 } },
  { scenario: movedConnections, terms: { rate: 20 } },
  { scenario: rollingRestart, terms: { rate: 50 } },
  { scenario: rollingUpgrade, terms: { rate: 20 } },
  { scenario: embeddedUpgrade, terms: { rate: 20 } },
  { scenario: drainedRuntime, terms: { rate: 0 } },
  { scenario: restartedRuntimes, terms: { rate: 50 } },
  { scenario: resumedStreams, terms: { rate: 500 } },
  // Copies that arrive before their run is stored count: more would exceed the tenant's 6,000 queries per minute.
  { scenario: repeatedKey, terms: { rate: 50 } },
  { scenario: spentCredits, terms: { rate: 500 } },
  { scenario: rateLimit, terms: { rate: 0 } },
  { scenario: reconnectedFleet, terms: { rate: 2_000 } },
  { scenario: idleStreams, terms: { rate: 10_000, seconds: 300 } },
  { scenario: fairShare, terms: { rate: 1, seconds: 20 } },
  { scenario: hostileSchemas, terms: { rate: 0, seconds: 20 } },
  { scenario: waitingRuns, terms: { rate: 1_000 } },
  { scenario: fullDisk, terms: { rate: 10, seconds: 10 } },
  { scenario: failingDisk, terms: { rate: 10, seconds: 30 } },
  { scenario: wrongClocks, terms: { rate: 20 } },
  { scenario: throughput, terms: { rate: 32, seconds: 20 } },
  { scenario: soak, terms: { rate: 20 } },
];

export type { Scenario };
