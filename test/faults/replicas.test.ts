import { quickLane } from "./quick-lane.ts";
import { adoptedCalls } from "./scenarios/adopted-calls.ts";
import { killedReplicas } from "./scenarios/killed-replicas.ts";
import { movedLinks } from "./scenarios/moved-links.ts";
import { resumedStreams } from "./scenarios/resumed-streams.ts";
import { rollingRestart } from "./scenarios/rolling-restart.ts";

quickLane([
  [killedReplicas, { seconds: 26, rate: 5 }],
  [resumedStreams, { seconds: 0, rate: 60 }],
  [movedLinks, { seconds: 0, rate: 5 }],
  [adoptedCalls, { seconds: 0, rate: 10 }],
  [rollingRestart, { seconds: 0, rate: 5 }],
]);
