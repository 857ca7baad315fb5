import { monotonicMs } from "@patchbay/kit/time";
import type { Inclusions } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { FunctionGateway, MissingService, ServiceState } from "@patchbay/engine/ports/function-gateway";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import type { SetIdentity } from "@patchbay/engine/ports/store/stores";
import type { RuntimeChannel } from "../channel.ts";
import type { GatewayContext } from "../context.ts";
import { createCompatibleServices } from "../handshake/manifest-limits.ts";
import type { Directory } from "../peers/directory.ts";
import type { CombinedSets, ManifestCache } from "./manifests.ts";
import { commonInclusions } from "./inclusions.ts";
import { type ChannelWait, RECENT_MS } from "./runtime-picker.ts";
import type { Served, ServedSet, ServingSets } from "./serving-sets.ts";

/**
 * The store's answer is used for this long: an agent may have a service that never comes back, and each query asks for
 * it.
 */
const FRESH_MS = 1_000;
const MAX_ANSWERS = 10_000;

interface SessionsDeps extends Pick<GatewayContext, "store" | "limits"> {
  directory: Directory;
  wait: ChannelWait;
  serving: ServingSets;
  combined: CombinedSets;
  manifests: ManifestCache;
}

/** Composes the function sets for new runs from the connected services. */
export function createSessions(deps: SessionsDeps): Pick<FunctionGateway, "session" | "combine" | "serving"> {
  const { directory, wait, serving, combined, manifests } = deps;
  const missingServices = createMissingServices(deps);
  return {
    async session(agentId, { signal, withinMs }) {
      let complete: ServedSet[] | undefined;
      let awaited: readonly string[] | undefined;
      // A service that was missing once stays so until it serves, even if its runtime has been away for long by then.
      // Otherwise the session would not name it as missing, and its functions would be absent without a reason.
      const missed = new Map<string, MissingService>();
      const choose = async (channels: RuntimeChannel[]): Promise<RuntimeChannel | undefined> => {
        const now = await serving.of(agentId, channels);
        const { served } = now;
        awaited = unservedSets(now).map(({ manifestHash }) => manifestHash);
        if (served.length === 0) return undefined;
        for (const one of await missingServices(agentId, now)) missed.set(one.service, one);
        if (![...missed.keys()].every((service) => serves(served, service))) return undefined;
        complete = served;
        return served[0]?.channels[0];
      };
      // The announcement of a newer set's runtime may have been lost: without the store, the run would begin with an older set.
      await directory.refreshIfStale(agentId);
      await wait.find(agentId, choose, signal, { wanted: () => awaited, withinMs });
      const served = complete ?? (await serving.of(agentId, wait.available(agentId))).served;
      if (served.length === 0) return undefined;
      const services = served.map(({ service, manifest, manifestHash }) => ({ service, manifest, manifestHash }));
      const missing = [...missed.values()].filter(({ service }) => !serves(served, service));
      return { ...(await combined.of(agentId, services)), services, missing };
    },

    combine: combined.of,

    async serving(agentId) {
      await directory.refreshIfStale(agentId);
      const now = await serving.of(agentId, wait.available(agentId));
      const { served, withheld } = now;
      const services: ServiceState[] = [
        ...served.map((one) => ({ serves: true as const, ...serviceState(one) })),
        ...withheld.map(({ service, reason }) => ({ service, serves: false as const, reason })),
      ];
      return {
        services,
        ...present({ inclusions: await inclusionsOf(agentId, now) }),
        ...(served.length > 0 && { set: await combined.of(agentId, served) }),
      };
    },
  };

  /** Undefined also where a service's set cannot be read, which may know roles without these inclusions. */
  async function inclusionsOf(agentId: string, { served, withheld }: Served): Promise<Inclusions | undefined> {
    const isConnected = served.length + withheld.length > 0;
    const others = isConnected ? withheld.flatMap(({ awaited }) => awaited ?? []) : await serving.newest(agentId);
    const sets = await Promise.all(others.map(({ manifestHash }) => manifests.get(agentId, manifestHash)));
    const known = sets.filter((manifest) => manifest !== undefined);
    if (known.length < sets.length) return undefined;
    return commonInclusions([...served.map(({ manifest }) => manifest), ...known]);
  }
}

const serviceState = ({ service, deployment, manifestHash, isFallback }: ServedSet) => ({
  service,
  deployment,
  manifestHash,
  isFallback,
});

const serves = (served: readonly ServedSet[], name: string): boolean => served.some(({ service }) => service === name);

/** The sets that would serve for the services that do not. */
const unservedSets = ({ withheld, absent }: Served): SetIdentity[] => [
  ...withheld.flatMap(({ awaited }) => awaited ?? []),
  ...absent,
];

/** Finds the services that do not serve now and whose runtime is likely to reconnect soon. */
function createMissingServices({ store, manifests, limits }: Pick<SessionsDeps, "store" | "manifests" | "limits">) {
  const answers = new Map<string, { recent: Promise<SetIdentity[]>; readAt: number }>();

  function recentOf(agentId: string, sets: readonly SetIdentity[]): Promise<SetIdentity[]> {
    const key = JSON.stringify([agentId, ...sets.map(({ manifestHash }) => manifestHash)]);
    const known = answers.get(key);
    if (known && monotonicMs() - known.readAt < FRESH_MS) return known.recent;
    const recent = readRecent(agentId, sets);
    answers.delete(key);
    answers.set(key, { recent, readAt: monotonicMs() });
    if (answers.size > MAX_ANSWERS) answers.delete(answers.keys().next().value ?? key);
    return recent;
  }

  async function readRecent(agentId: string, sets: readonly SetIdentity[]): Promise<SetIdentity[]> {
    try {
      // Usually one query, when none of them was seen for a long time.
      if (!(await isRecent(agentId, sets))) return [];
      const recent: SetIdentity[] = [];
      for (const set of sets) if (sets.length === 1 || (await isRecent(agentId, [set]))) recent.push(set);
      return recent;
    } catch (error) {
      // The services that are connected continue to serve while the store is unavailable.
      if (error instanceof StoreUnavailable) return [];
      throw error;
    }
  }

  async function isRecent(agentId: string, sets: readonly SetIdentity[]): Promise<boolean> {
    const hashes = sets.map(({ manifestHash }) => manifestHash);
    const seen = await store.lastSeen(agentId, hashes);
    // Not all runtimes from the last day after a start: a service that was retired today would delay or refuse the
    // others' queries.
    return seen !== undefined && seen.agoMs < RECENT_MS;
  }

  return async (agentId: string, now: Served): Promise<MissingService[]> => {
    const sets = unservedSets(now);
    if (sets.length === 0) return [];
    const missing: MissingService[] = [];
    for (const { service, manifestHash } of await recentOf(agentId, sets)) {
      const manifest = await manifests.get(agentId, manifestHash);
      const served = createCompatibleServices(limits, now.served);
      // The handshake refuses a service whose functions another one has taken over, so runs do not wait for it.
      const isRefused = manifest && served.add({ service, manifestHash, manifest }) !== undefined;
      const hasHooks = manifest?.beforeQuery === true || manifest?.beforeAnswer === true;
      if (!isRefused) missing.push({ service, hasHooks });
    }
    return missing;
  };
}
