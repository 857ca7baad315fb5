import { quickLane } from "./quick-lane.ts";
import { drainedRuntime, killedRuntimes, redeliveredCalls } from "./scenarios/runtime-faults.ts";
import { killedBus } from "./scenarios/network-faults.ts";

import { pausedReplica } from "./scenarios/replica-faults.ts";
import { rateLimit, spentCredits } from "./scenarios/account-limits.ts";
import { repeatedKey } from "./scenarios/repeated-requests.ts";

import { stoppedPostgres } from "./scenarios/database-faults.ts";

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
