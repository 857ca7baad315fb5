import type { FunctionGateway, MissingService, ServiceState } from "@patchbay/engine/ports/function-gateway";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import type { SetIdentity } from "@patchbay/engine/ports/store/stores";
import type { RuntimeChannel } from "../channel.ts";
import type { GatewayContext } from "../context.ts";
import { CompatibleServices } from "../handshake/manifest-limits.ts";
import type { Directory } from "../peers/directory.ts";
import type { CombinedSets, ManifestCache } from "./manifests.ts";
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
export class Sessions {
  readonly #deps: SessionsDeps;
  readonly #missing: MissingServices;

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
    this.#missing = new MissingServices(deps);
  }

  readonly session: FunctionGateway["session"] = async (agentId, { signal, withinMs }) => {
    let complete: ServedSet[] | undefined;
    let awaited: readonly string[] | undefined;
    // A service that was missing once stays so until it serves, even if its runtime is no longer recent by then.
    // Otherwise the session would not name it as missing, and its functions would be absent without a reason.
    const missed = new Map<string, MissingService>();
    const choose = async (channels: RuntimeChannel[]): Promise<RuntimeChannel | undefined> => {
      const now = await this.#deps.serving.of(agentId, channels);
      const { served } = now;
      awaited = unservedSets(now).map(({ manifestHash }) => manifestHash);
      if (served.length === 0) return undefined;
      for (const one of await this.#missing.of(agentId, now)) missed.set(one.service, one);
      if (![...missed.keys()].every((service) => serves(served, service))) return undefined;
      complete = served;
      return served[0]?.channels[0];
    };
    await this.#deps.wait.find(agentId, choose, signal, { wanted: () => awaited, withinMs });
    const served = complete ?? (await this.#deps.serving.of(agentId, this.#deps.wait.available(agentId))).served;
    if (served.length === 0) return undefined;
    const services = served.map(({ service, manifest, manifestHash }) => ({ service, manifest, manifestHash }));
    const missing = [...missed.values()].filter(({ service }) => !serves(served, service));
    return { ...(await this.#deps.combined.of(agentId, services)), services, missing };
  };

  readonly combine: FunctionGateway["combine"] = (agentId, services) => this.#deps.combined.of(agentId, services);

  readonly serving: FunctionGateway["serving"] = async (agentId) => {
    await this.#deps.directory.refreshIfStale(agentId);
    const { served, withheld } = await this.#deps.serving.of(agentId, this.#deps.wait.available(agentId));
    const services: ServiceState[] = [
      ...served.map(({ service, deployment, manifestHash, isFallback }) => ({
        service,
        serves: true as const,
        deployment,
        manifestHash,
        isFallback,
      })),
      ...withheld.map(({ service, reason }) => ({ service, serves: false as const, reason })),
    ];
    return { services, ...(served.length > 0 && { set: await this.#deps.combined.of(agentId, served) }) };
  };
}

const serves = (served: readonly ServedSet[], name: string): boolean => served.some(({ service }) => service === name);

/** The sets that would serve for the services that do not. */
const unservedSets = ({ withheld, absent }: Served): SetIdentity[] => [
  ...withheld.flatMap(({ awaited }) => awaited ?? []),
  ...absent,
];

type MissingServicesDeps = Pick<SessionsDeps, "store" | "manifests" | "limits">;

/** Names the services that do not serve now and whose runtime is likely to reconnect soon. */
class MissingServices {
  readonly #deps: MissingServicesDeps;
  readonly #answers = new Map<string, { recent: Promise<SetIdentity[]>; readAt: number }>();

  constructor(deps: MissingServicesDeps) {
    this.#deps = deps;
  }

  async of(agentId: string, now: Served): Promise<MissingService[]> {
    const sets = unservedSets(now);
    if (sets.length === 0) return [];
    const missing: MissingService[] = [];
    for (const { service, manifestHash } of await this.#recentOf(agentId, sets)) {
      const manifest = await this.#deps.manifests.get(agentId, manifestHash);
      const served = new CompatibleServices(this.#deps.limits, now.served);
      // The handshake refuses a service whose functions another one has taken over, so runs do not wait for it.
      const isRefused = manifest && served.add({ service, manifestHash, manifest }) !== undefined;
      const hasHooks = manifest?.beforeQuery === true || manifest?.beforeAnswer === true;
      if (!isRefused) missing.push({ service, hasHooks });
    }
    return missing;
  }

  #recentOf(agentId: string, sets: readonly SetIdentity[]): Promise<SetIdentity[]> {
    const key = JSON.stringify([agentId, ...sets.map(({ manifestHash }) => manifestHash)]);
    const known = this.#answers.get(key);
    if (known && performance.now() - known.readAt < FRESH_MS) return known.recent;
    const recent = this.#readRecent(agentId, sets);
    this.#answers.delete(key);
    this.#answers.set(key, { recent, readAt: performance.now() });
    if (this.#answers.size > MAX_ANSWERS) this.#answers.delete(this.#answers.keys().next().value ?? key);
    return recent;
  }

  async #readRecent(agentId: string, sets: readonly SetIdentity[]): Promise<SetIdentity[]> {
    try {
      // Usually one query, when none of them was seen for a long time.
      if (!(await this.#isRecent(agentId, sets))) return [];
      const recent: SetIdentity[] = [];
      for (const set of sets) if (sets.length === 1 || (await this.#isRecent(agentId, [set]))) recent.push(set);
      return recent;
    } catch (error) {
      // The services that are connected continue to serve while the store is unavailable.
      if (error instanceof StoreUnavailable) return [];
      throw error;
    }
  }

  async #isRecent(agentId: string, sets: readonly SetIdentity[]): Promise<boolean> {
    const hashes = sets.map(({ manifestHash }) => manifestHash);
    const seen = await this.#deps.store.lastSeen(agentId, hashes);
    // Not all runtimes from the last day after a start: a service that was retired today would delay or refuse the
    // others' queries.
    return seen !== undefined && seen.agoMs < RECENT_MS;
  }
}
