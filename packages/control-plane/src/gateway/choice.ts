import type { FunctionOrigin, OperatorLimits } from "@patchbay/protocol";
import type { Clock } from "../ports/clock.ts";
import type { FunctionGateway, MissingService, ServiceState } from "../ports/function-gateway.ts";
import { StoreUnavailable } from "../ports/run-store.ts";
import type { RuntimeStore } from "../ports/stores.ts";
import type { Combinations } from "./combination.ts";
import type { Comparison } from "./comparison.ts";
import type { Directory } from "./directory.ts";
import { HOOK_GRACE_MS, type Line } from "./line.ts";
import type { Manifests } from "./manifests.ts";
import { createMissingServices, RECENT_MS, unservedSets } from "./missing-services.ts";
import type { ServedSet, Serving } from "./serving.ts";

/** Between two runtimes that were asked in vain. */
const NEXT_MS = 100;

type Choose = (lines: Line[]) => Line | undefined | Promise<Line | undefined>;
type StandIn = Parameters<Serving["standIns"]>[3];

/** Finds runtimes for runs and calls, waiting for one that is just reconnecting. */
export type Choice = Pick<
  FunctionGateway,
  "session" | "combine" | "assign" | "prepare" | "runHook" | "serving" | "connected"
>;

export function createChoice(options: {
  directory: Directory;
  manifests: Manifests;
  comparison: Comparison;
  serving: Serving;
  combinations: Combinations;
  store: RuntimeStore;
  limits: OperatorLimits;
  clock: Clock;
  /** How long a runtime is waited for. */
  arrivalMs: number;
  /** How long a connected runtime has to check the context of a query. */
  prepareMs: number;
  /** Ends every wait: a gateway that is closed has no runtimes, which says nothing about the agent. */
  closed: AbortSignal;
}): Choice {
  const { directory, manifests, comparison, serving, combinations } = options;
  const { store, clock, arrivalMs, prepareMs, closed } = options;
  const missingServices = createMissingServices({ store, manifests, limits: options.limits });
  let turn = 0;

  const availableOf = (agentId: string): Line[] => directory.of(agentId).filter((line) => line.available);

  /** `wanted`: the function sets of which a runtime would do; without them any runtime of the agent. */
  async function awaitLine(
    agentId: string,
    choose: Choose,
    signal: AbortSignal,
    wanted: () => readonly string[] | undefined = () => undefined,
  ): Promise<Line | undefined> {
    const find = async (): Promise<Line | undefined> => {
      const lines = availableOf(agentId);
      return lines.length > 0 ? choose(lines) : undefined;
    };
    const check = (): void => {
      signal.throwIfAborted();
      closed.throwIfAborted();
    };
    check();
    const here = await find();
    if (here) return here;
    await directory.refresh(agentId);
    const recent = await seenRecently(agentId, wanted());
    check();
    return (await find()) ?? (recent ? arrival(agentId, find, signal) : undefined);
  }

  /** A store that is out of reach says nothing against the agent: its runtime is waited for. */
  async function seenRecently(agentId: string, wanted: readonly string[] | undefined): Promise<boolean> {
    try {
      const agoMs = await store.lastSeenAgoMs(agentId, wanted);
      return agoMs !== undefined && agoMs < RECENT_MS;
    } catch (error) {
      if (error instanceof StoreUnavailable) return true;
      throw error;
    }
  }

  async function arrival(
    agentId: string,
    find: () => Promise<Line | undefined>,
    signal: AbortSignal,
  ): Promise<Line | undefined> {
    const arrived = Promise.withResolvers<Line>();
    const done = new AbortController();
    const look = (): void =>
      void find().then((line) => {
        if (line) arrived.resolve(line);
      }, arrived.reject);
    const watch = directory.onArrival(agentId, look);
    // One that came while the first look was awaited has woken nobody.
    look();
    try {
      const late = clock.sleep(arrivalMs, { signal: AbortSignal.any([signal, closed, done.signal]) });
      return await Promise.race([arrived.promise, late.then(find)]);
    } finally {
      watch[Symbol.dispose]();
      done.abort();
    }
  }

  /** Of which service's set a run's function is. Undefined where the run's set cannot be read, or has no such function. */
  async function originOf(
    agentId: string,
    manifestHash: string,
    functionName: string,
  ): Promise<FunctionOrigin | undefined> {
    const set = await manifests.get(agentId, manifestHash);
    const one = set?.functions.find(({ name }) => name === functionName);
    return set && one && (one.origin ?? { service: set.name, manifestHash });
  }

  /** Asks a runtime with this function set, or with one that widens nothing against it; another one where it is lost meanwhile. */
  async function question<T>(
    about: { agentId: string; manifestHash: string; answerMs: number; signal: AbortSignal },
    ask: (line: Line, signal: AbortSignal) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const { agentId, manifestHash, answerMs, signal } = about;
    const late = AbortSignal.timeout(arrivalMs + answerMs);
    const either = AbortSignal.any([signal, late]);
    const service = (await manifests.get(agentId, manifestHash))?.name ?? "";
    const widensNothing: StandIn = (own, other) => comparison.between(own, other).length === 0;
    const choose: Choose = async (lines) => {
      const own = ofSet(lines, manifestHash);
      const line = leastLoaded(own.filter((line) => line.reachable)) ?? leastLoaded(own);
      return line ?? leastLoaded(await serving.standIns(agentId, lines, { service, manifestHash }, widensNothing));
    };
    try {
      while (!either.aborted) {
        const line = await awaitLine(agentId, choose, either);
        const silent = AbortSignal.timeout(answerMs);
        const answer = line && (await ask(line, AbortSignal.any([either, silent])));
        if (answer || !line || silent.aborted) return answer;
        line.turn = ++turn;
        if (!line.local) await clock.sleep(NEXT_MS, { signal: either });
      }
    } catch (error) {
      if (!late.aborted) throw error;
    }
    signal.throwIfAborted();
    return undefined;
  }

  return {
    async session(agentId, { signal }) {
      let complete: ServedSet[] | undefined;
      let awaited: readonly string[] | undefined;
      // A service that was missed once is missed until it serves, even if it was seen too long ago meanwhile.
      const missed = new Map<string, MissingService>();
      const choose: Choose = async (lines) => {
        const now = await serving.of(agentId, lines);
        const { served } = now;
        awaited = unservedSets(now).map(({ manifestHash }) => manifestHash);
        if (served.length === 0) return undefined;
        for (const one of await missingServices(agentId, now)) missed.set(one.service, one);
        if (![...missed.keys()].every((service) => serves(served, service))) return undefined;
        complete = served;
        return served[0]?.lines[0];
      };
      await awaitLine(agentId, choose, signal, () => awaited);
      const { served } = complete ? { served: complete } : await serving.of(agentId, availableOf(agentId));
      if (served.length === 0) return undefined;
      const services = served.map(({ service, manifest, manifestHash }) => ({ service, manifest, manifestHash }));
      const missing = [...missed.values()].filter(({ service }) => !serves(served, service));
      return { ...(await combinations.of(agentId, services)), services, missing };
    },

    combine: (agentId, services) => combinations.of(agentId, services),

    async assign(agentId, manifestHash, functionName, { signal }) {
      const origin = await originOf(agentId, manifestHash, functionName);
      const set = origin ?? { service: "", manifestHash };
      const keepsTo: StandIn = (own, other) => comparison.keepsTo(own, other, functionName);
      const choose: Choose = async (known) => {
        let lines = known;
        let line = leastLoaded(ofSet(lines, set.manifestHash).filter((line) => line.reachable));
        if (!line) {
          // Before a call is given to a runtime with another set than its run's own, whoever may have its own is looked for.
          await directory.freshen(agentId);
          lines = availableOf(agentId);
          const own = ofSet(lines, set.manifestHash);
          const others = await serving.standIns(agentId, lines, set, keepsTo);
          line =
            leastLoaded(own.filter((line) => line.reachable)) ??
            leastLoaded(others.filter((line) => line.reachable)) ??
            leastLoaded(own) ??
            leastLoaded(others);
        }
        // Noted while choosing: the next call of a burst is assigned before this one is on its line.
        if (line) line.turn = ++turn;
        line?.reserved.add();
        return line;
      };
      return (await awaitLine(agentId, choose, signal))?.identity.instanceId;
    },

    prepare: (agentId, manifestHash, input, { signal }) =>
      question({ agentId, manifestHash, answerMs: prepareMs, signal }, (line, either) => line.prepare(input, either)),

    runHook: (agentId, manifestHash, input, { signal }) =>
      question({ agentId, manifestHash, answerMs: input.timeoutMs + HOOK_GRACE_MS, signal }, (line, either) =>
        line.runHook(input, either),
      ),

    async serving(agentId) {
      await directory.freshen(agentId);
      const { served, withheld } = await serving.of(agentId, availableOf(agentId));
      const services: ServiceState[] = [
        ...served.map(({ service, deployment, manifestHash, standsIn }) => ({
          service,
          serves: true as const,
          deployment,
          manifestHash,
          standsIn,
        })),
        ...withheld.map(({ service, reason }) => ({ service, serves: false as const, reason })),
      ];
      return { services, ...(served.length > 0 && { set: await combinations.of(agentId, served) }) };
    },

    async connected(agentId) {
      const open = (): boolean => directory.of(agentId).some((line) => line.open);
      if (open()) return true;
      await directory.refresh(agentId);
      return open();
    },
  };
}

const serves = (served: readonly ServedSet[], name: string): boolean => served.some(({ service }) => service === name);

const ofSet = (lines: readonly Line[], manifestHash: string): Line[] =>
  lines.filter(({ identity }) => identity.manifestHash === manifestHash);

/** One of this replica with a free place before any other; else the least loaded, which may be anywhere. Equals take turns. */
function leastLoaded(lines: readonly Line[]): Line | undefined {
  let best: Line | undefined;
  for (const line of lines) if (!best || compare(line, best) < 0) best = line;
  return best;
}

function compare(a: Line, b: Line): number {
  const near = Number(isNear(b)) - Number(isNear(a));
  return near || a.load - b.load || a.turn - b.turn;
}

const isNear = (line: Line): boolean => line.local && line.load < 1;
