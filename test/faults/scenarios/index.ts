import { adoptedCalls } from "./adopted-calls.ts";
import { failingDisk, fullDisk } from "./bad-disks.ts";
import { cutFromBus, cutFromDatabase } from "./cut-ways.ts";
import { drainedRuntime } from "./drained-runtime.ts";
import { fairShare } from "./fair-share.ts";
import { reconnectedFleet } from "./fleet.ts";
import { idleStreams } from "./idle-streams.ts";
import { killedBus } from "./killed-bus.ts";
import { killedReplicas } from "./killed-replicas.ts";
import { killedRuntimes, redeliveredCalls } from "./killed-runtimes.ts";
import { movedLinks } from "./moved-links.ts";
import { pausedReplica } from "./paused-replica.ts";
import { rateLimit } from "./rate-limit.ts";
import { repeatedKey } from "./repeated-key.ts";
import { restartedPostgres } from "./restarted-postgres.ts";
import { resumedStreams } from "./resumed-streams.ts";
import { rollingRestart } from "./rolling-restart.ts";
import type { Scenario } from "./scenario.ts";
import { soak } from "./soak.ts";
import { spentCredits } from "./spent-credits.ts";
import { stoppedPostgres } from "./stopped-postgres.ts";
import { throughput } from "./throughput.ts";
import { wrongClocks } from "./wrong-clocks.ts";

/** What the long lane runs, with the size at which the promised figures are asked for. Seconds left out: the lane's. */
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
  { scenario: movedLinks, terms: { rate: 20 } },
  { scenario: rollingRestart, terms: { rate: 50 } },
  { scenario: drainedRuntime, terms: { rate: 0 } },
  { scenario: resumedStreams, terms: { rate: 500 } },
  // Copies that come before their run is stored count: more would meet the tenant's 6,000 queries a minute.
  { scenario: repeatedKey, terms: { rate: 50 } },
  { scenario: spentCredits, terms: { rate: 500 } },
  { scenario: rateLimit, terms: { rate: 0 } },
  { scenario: reconnectedFleet, terms: { rate: 2_000 } },
  { scenario: idleStreams, terms: { rate: 10_000, seconds: 300 } },
  { scenario: fairShare, terms: { rate: 1, seconds: 20 } },
  { scenario: fullDisk, terms: { rate: 10, seconds: 10 } },
  { scenario: failingDisk, terms: { rate: 10, seconds: 30 } },
  { scenario: wrongClocks, terms: { rate: 20 } },
  { scenario: throughput, terms: { rate: 32, seconds: 20 } },
  { scenario: soak, terms: { rate: 20 } },
];

export type { Scenario };
