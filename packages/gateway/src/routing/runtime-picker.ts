import { clearTimer, setInterval, timeoutSignal } from "@patchbay/kit/time";
import type { FunctionOrigin } from "@patchbay/protocol";
import type { FunctionGateway } from "@patchbay/engine/ports/function-gateway";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import type { LastSeen } from "@patchbay/engine/ports/service-times";
import { HOOK_GRACE_MS, type RuntimeChannel } from "../channel.ts";
import type { GatewayContext } from "../context.ts";
import type { Directory } from "../peers/directory.ts";
import type { ManifestCache } from "./manifests.ts";
import type { ServingSets } from "./serving-sets.ts";

/** A runtime that was seen this recently is likely to reconnect soon. */
export const RECENT_MS = 60_000;
/**
 * For this time after a start, so is a runtime from the last day: it waits at most 10 s between attempts to connect,
 * and a busy machine takes as long for the rest.
 */
const START_MS = 20_000;
const DAY_MS = 86_400_000;
/**
 * A wait looks again after this time: an announcement may be lost, and a channel that counted as closed may be usable
 * again.
 */
const LOOK_MS = 1_000;
/** Pause between two replicas that did not answer. */
const NEXT_MS = 100;

type Choose = (channels: RuntimeChannel[]) => RuntimeChannel | undefined | Promise<RuntimeChannel | undefined>;

/** How long a query waits for a runtime last seen then: 0 if it is unlikely to reconnect soon. */
function arrivalWaitMs(seen: LastSeen | undefined, arrivalMs: number): number {
  if (!seen || arrivalMs === 0) return 0;
  const leftMs = START_MS - (seen.startedAgoMs ?? START_MS);
  if (leftMs > 0 && seen.agoMs < DAY_MS) return Math.max(arrivalMs, leftMs);
  return seen.agoMs < RECENT_MS ? arrivalMs : 0;
}

interface ChannelWaitDeps extends Pick<GatewayContext, "store" | "clock"> {
  directory: Directory;
  /** How long to wait for a runtime: see {@link arrivalWaitMs}. */
  arrivalMs: number;
  /** Rejects every wait when the gateway closes: "no runtime" would be a false statement about the agent. */
  closed: AbortSignal;
}

/** Finds an agent's channel, and waits for one whose runtime is reconnecting. */
export function createChannelWait({ directory, store, clock, arrivalMs, closed }: ChannelWaitDeps) {
  const available = (agentId: string): RuntimeChannel[] =>
    directory.channels(agentId).filter((channel) => channel.available);

  async function waitMsFor(agentId: string, wanted: readonly string[] | undefined): Promise<number> {
    try {
      return arrivalWaitMs(await store.lastSeen(agentId, wanted), arrivalMs);
    } catch (error) {
      // While the store is unavailable, nothing is known about the agent's runtimes: wait rather than fail the query.
      if (error instanceof StoreUnavailable) return arrivalMs;
      throw error;
    }
  }

  async function arrival(
    agentId: string,
    find: () => Promise<RuntimeChannel | undefined>,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<RuntimeChannel | undefined> {
    const arrived = Promise.withResolvers<RuntimeChannel>();
    const done = new AbortController();
    const look = (): void =>
      void find().then((channel) => {
        if (channel) arrived.resolve(channel);
      }, arrived.reject);
    using _ = directory.onArrival(agentId, look);
    // A runtime that connected during the earlier look did not call `look`, so look once more after subscribing.
    look();
    const again = setInterval(() => void directory.refreshIfStale(agentId).then(look), LOOK_MS);
    try {
      const late = clock.sleep(waitMs, { signal: AbortSignal.any([signal, closed, done.signal]) });
      return await Promise.race([arrived.promise, late.then(find)]);
    } finally {
      clearTimer(again);
      done.abort();
    }
  }

  return {
    available,
    /**
     * Resolves with the channel that `choose` returns, as soon as it returns one; with undefined when the wait is over,
     * or when no runtime with a function set in `wanted` (without it: no runtime for the agent) is likely to connect.
     */
    async find(
      agentId: string,
      choose: Choose,
      signal: AbortSignal,
      { wanted, withinMs = Number.POSITIVE_INFINITY }: FindOptions = {},
    ): Promise<RuntimeChannel | undefined> {
      const look = async (): Promise<RuntimeChannel | undefined> => {
        const channels = available(agentId);
        return channels.length > 0 ? choose(channels) : undefined;
      };
      const check = (): void => {
        signal.throwIfAborted();
        closed.throwIfAborted();
      };
      check();
      const known = await look();
      if (known) return known;
      await directory.refresh(agentId);
      const waitMs = Math.min(withinMs, await waitMsFor(agentId, wanted?.()));
      check();
      return (await look()) ?? (waitMs > 0 ? arrival(agentId, look, waitMs, signal) : undefined);
    },
  };
}
export type ChannelWait = ReturnType<typeof createChannelWait>;

interface FindOptions {
  wanted?: () => readonly string[] | undefined;
  withinMs?: number | undefined;
}

interface RuntimePickerDeps extends Pick<GatewayContext, "clock"> {
  directory: Directory;
  wait: ChannelWait;
  manifests: ManifestCache;
  serving: ServingSets;
  arrivalMs: number;
  /** How long a connected runtime has to prepare a query's context. */
  prepareMs: number;
}

/** Picks the runtime for a call, a query's context or a hook. */
export class RuntimePicker {
  readonly #deps: RuntimePickerDeps;
  #picks = 0;

  constructor(deps: RuntimePickerDeps) {
    this.#deps = deps;
  }

  readonly assign: FunctionGateway["assign"] = async (agentId, manifestHash, functionName, { signal, near }) => {
    const origin = await this.#originOf(agentId, manifestHash, functionName);
    const set = origin ?? { service: "", manifestHash };
    const choose: Choose = async (channels) => {
      const own = reachable(ofSet(channels, set.manifestHash));
      const channel =
        (near ? leastLoaded(own.filter(({ local }) => local)) : undefined) ??
        leastLoaded(own) ??
        (await this.#chooseOther(agentId, set, functionName));
      if (!channel) return undefined;
      // Both change here and not at delivery: all calls in a burst are assigned before the first is delivered.
      channel.lastPick = ++this.#picks;
      channel.assigned.add();
      return channel;
    };
    return (await this.#deps.wait.find(agentId, choose, signal))?.identity.instanceId;
  };

  readonly prepare: FunctionGateway["prepare"] = (agentId, manifestHash, caller, { signal, trace }) => {
    const about = { agentId, manifestHash, answerMs: this.#deps.prepareMs, signal };
    const input = trace ? { ...caller, trace } : caller;
    return this.#ask(about, (channel, either) => channel.prepare(input, either));
  };

  readonly runHook: FunctionGateway["runHook"] = (agentId, manifestHash, input, { signal }) => {
    const about = { agentId, manifestHash, answerMs: input.timeoutMs + HOOK_GRACE_MS, signal };
    return this.#ask(about, (channel, either) => channel.runHook(input, either));
  };

  /**
   * The service and set that a run's function belongs to. Undefined when the run's set cannot be read, or has no such
   * function.
   */
  async #originOf(agentId: string, manifestHash: string, functionName: string): Promise<FunctionOrigin | undefined> {
    const set = await this.#deps.manifests.get(agentId, manifestHash);
    const one = set?.functions.find(({ name }) => name === functionName);
    return set && one && (one.origin ?? { service: set.name, manifestHash });
  }

  /**
   * Called when no reachable channel with the run's own set is known. A reachable one comes first, then one with the
   * run's own set.
   */
  async #chooseOther(agentId: string, set: FunctionOrigin, functionName: string): Promise<RuntimeChannel | undefined> {
    // Before a call falls back to another set: a runtime with the run's own set may have connected to another replica.
    await this.#deps.directory.refreshIfStale(agentId);
    const channels = this.#deps.wait.available(agentId);
    const own = ofSet(channels, set.manifestHash);
    const others = await this.#deps.serving.substitutes(agentId, channels, set, functionName);
    return leastLoaded(reachable(own)) ?? leastLoaded(reachable(others)) ?? leastLoaded(own) ?? leastLoaded(others);
  }

  /**
   * Asks a runtime with this function set, or with one that widens nothing against it; the next one if its connection
   * is lost.
   */
  async #ask<T>(
    about: { agentId: string; manifestHash: string; answerMs: number; signal: AbortSignal },
    ask: (channel: RuntimeChannel, signal: AbortSignal) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const { agentId, manifestHash, answerMs, signal } = about;
    const late = timeoutSignal(Math.max(this.#deps.arrivalMs, START_MS) + answerMs);
    const either = AbortSignal.any([signal, late]);
    const service = (await this.#deps.manifests.get(agentId, manifestHash))?.name ?? "";
    const choose: Choose = async (channels) => {
      const own = ofSet(channels, manifestHash);
      const channel = leastLoaded(reachable(own)) ?? leastLoaded(own);
      return channel ?? leastLoaded(await this.#deps.serving.substitutes(agentId, channels, { service, manifestHash }));
    };
    try {
      while (!either.aborted) {
        const channel = await this.#deps.wait.find(agentId, choose, either);
        const silent = timeoutSignal(answerMs);
        const answer = channel && (await ask(channel, AbortSignal.any([either, silent])));
        if (answer || !channel || silent.aborted) return answer;
        channel.lastPick = ++this.#picks;
        if (!channel.local) await this.#deps.clock.sleep(NEXT_MS, { signal: either });
      }
    } catch (error) {
      if (!late.aborted) throw error;
    }
    signal.throwIfAborted();
    return undefined;
  }
}

const reachable = (channels: readonly RuntimeChannel[]): RuntimeChannel[] =>
  channels.filter((channel) => channel.reachable);

const ofSet = (channels: readonly RuntimeChannel[], manifestHash: string): RuntimeChannel[] =>
  channels.filter(({ identity }) => identity.manifestHash === manifestHash);

/** This replica's channel with a free slot, if there is one; else the least loaded. Equal ones take turns. */
function leastLoaded(channels: readonly RuntimeChannel[]): RuntimeChannel | undefined {
  let best: RuntimeChannel | undefined;
  for (const channel of channels) if (!best || compare(channel, best) < 0) best = channel;
  return best;
}

function compare(a: RuntimeChannel, b: RuntimeChannel): number {
  const near = Number(isNear(b)) - Number(isNear(a));
  // Without the last pick, consecutive calls would all go to the runtime that connected first: its load is 0 again.
  return near || a.load - b.load || a.lastPick - b.lastPick;
}

const isNear = (channel: RuntimeChannel): boolean => channel.local && channel.load < 1;
