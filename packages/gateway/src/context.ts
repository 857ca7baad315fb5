import type { Manifest, OperatorLimits } from "@patchbay/protocol";
import type { FlowReplay } from "@patchbay/engine/run/calls/replay";
import type { Bus } from "@patchbay/engine/ports/bus";
import type { Clock } from "@patchbay/engine/ports/clock";
import type { Log } from "@patchbay/kit";
import type { Metrics } from "@patchbay/engine/ports/metrics";
import type { CallStore } from "@patchbay/engine/ports/store/call-store";
import type { RuntimeStore, Store } from "@patchbay/engine/ports/store/stores";

type Counted = "runtimeConnected" | "runtimeDisconnected" | "runtimeRefused" | "frameDropped" | "accessWidened";

/** What the parts of a gateway get from their process. */
export interface GatewayContext extends Pick<Store, "shadows"> {
  store: RuntimeStore;
  calls: CallStore;
  /** Restricts a write to its runtime's organisation. */
  within: Store["within"];
  /** Connects the replicas. */
  bus: Bus;
  replicaId: string;
  limits: OperatorLimits;
  clock: Clock;
  log: Log;
  metrics: Pick<Metrics, Counted>;
  /** Data-flow rules of a candidate, on stored calls. */
  replay?: ((agentId: string, manifest: Manifest) => FlowReplay) | undefined;
  /** Warnings for the owner about the function sets of an agent's services, which the connecting runtime logs. */
  advise?: ((agentId: string, services: readonly Manifest[]) => Promise<string[]>) | undefined;
}
