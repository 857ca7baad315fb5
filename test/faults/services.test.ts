import { quickLane } from "./quick-lane.ts";
import { drainedRuntime } from "./scenarios/drained-runtime.ts";
import { killedBus } from "./scenarios/killed-bus.ts";
import { killedRuntimes, redeliveredCalls } from "./scenarios/killed-runtimes.ts";
import { pausedReplica } from "./scenarios/paused-replica.ts";
import { rateLimit } from "./scenarios/rate-limit.ts";
import { repeatedKey } from "./scenarios/repeated-key.ts";
import { spentCredits } from "./scenarios/spent-credits.ts";
import { stoppedPostgres } from "./scenarios/stopped-postgres.ts";

quickLane([
  [repeatedKey, { seconds: 0, rate: 3 }],
  [killedRuntimes, { seconds: 0, rate: 10 }],
  [redeliveredCalls, { seconds: 0, rate: 10 }],
  [drainedRuntime, { seconds: 0, rate: 0 }],
  [killedBus, { seconds: 8, rate: 5 }],
  [stoppedPostgres, { seconds: 10, rate: 4 }],
  [spentCredits, { seconds: 0, rate: 100 }],
  [rateLimit, { seconds: 0, rate: 0 }],
  [pausedReplica, { seconds: 0, rate: 5 }],
]);
