import { quickLane } from "./quick-lane.ts";
import { adoptedCalls, killedReplicas, rollingRestart } from "./scenarios/replica-faults.ts";

import { movedConnections } from "./scenarios/runtime-faults.ts";
import { resumedStreams } from "./scenarios/repeated-requests.ts";

quickLane([
  [killedReplicas, { seconds: 26, rate: 5 }],
  [resumedStreams, { seconds: 0, rate: 60 }],
  [movedConnections, { seconds: 0, rate: 5 }],
  [adoptedCalls, { seconds: 0, rate: 10 }],
  [rollingRestart, { seconds: 0, rate: 5 }],
]);
