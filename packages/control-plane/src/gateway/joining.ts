import type { Manifest, OperatorLimits } from "@patchbay/protocol";
import type { Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";
import type { DeployedSet, RuntimeStore, SetIdentity } from "../ports/stores.ts";
import type { Directory } from "./directory.ts";
import { Compatible } from "./conflict.ts";
import { isSameSet, type LineIdentity, setOf } from "./line.ts";
import type { Serving } from "./serving.ts";
import type { SetOrders } from "./set-order.ts";

/** Widenings in one line of the log. */
const LOGGED = 20;

/** Takes the function sets of hellos into the order of their services. */
export interface Joining {
  /** Why the set is refused: it cannot be combined with those of other connected services. Undefined when it has its place. */
  join(line: LineIdentity, manifest: Manifest, keyId: string): Promise<string | undefined>;
}

export function createJoining(options: {
  store: RuntimeStore;
  directory: Directory;
  orders: Pick<SetOrders, "expire">;
  serving: Serving;
  limits: OperatorLimits;
  log: Log;
  metrics: Pick<Metrics, "accessWidened">;
}): Joining {
  const { store, directory, orders, serving, limits, log, metrics } = options;

  async function conflict({ agentId, service }: LineIdentity, set: SetIdentity, manifest: Manifest) {
    await directory.freshen(agentId);
    const others = directory.of(agentId).filter((line) => line.available && line.identity.service !== service);
    const { served } = await serving.of(agentId, others);
    const reason = new Compatible(limits, served).add({ service, manifest, manifestHash: set.manifestHash });
    return reason !== undefined && (await isReplaced(agentId, set)) ? undefined : reason;
  }

  /** True for an older set that comes back: it serves nothing new, and the runs that began on it need it. */
  async function isReplaced(agentId: string, set: SetIdentity): Promise<boolean> {
    const sets = (await store.functionSets(agentId)).filter(({ service }) => service === set.service);
    const at = sets.findIndex((one) => isSameSet(one, set));
    return at >= 0 && sets.slice(at + 1).some(({ confirmation }) => confirmation !== "pending");
  }

  function warn(agentId: string, { widenings, confirmation, ...set }: Omit<DeployedSet, "position">): void {
    metrics.accessWidened();
    const { service, deployment, manifestHash, replaces } = set;
    log.warn("a function set widens access", {
      agentId,
      service,
      deployment,
      manifestHash,
      replaces,
      confirmation,
      widenings: widenings.slice(0, LOGGED).map(({ text }) => text),
      count: widenings.length,
    });
  }

  return {
    async join(line, manifest, keyId) {
      const { agentId } = line;
      const set = setOf(line);
      const reason = await conflict(line, set, manifest);
      if (reason !== undefined) return reason;
      await store.saveManifest(agentId, set.manifestHash, manifest);
      const noted = await store.noteSet(agentId, set, manifest, { keyId });
      if (!noted.fresh) return undefined;
      if (noted.widenings.length > 0) warn(agentId, noted);
      orders.expire(agentId);
      return undefined;
    },
  };
}
