import type { Clock } from "../ports/clock.ts";
import type { FunctionGateway, FunctionSession } from "../ports/function-gateway.ts";
import { StoreUnavailable } from "../ports/run-store.ts";
import type { RuntimeStore } from "../ports/stores.ts";
import type { Directory } from "./directory.ts";
import type { Line } from "./line.ts";
import type { Manifests } from "./manifests.ts";

/** An agent whose runtime was seen this recently is likely to have it back soon. */
const RECENT_MS = 60_000;
/** Between two runtimes that were asked in vain. */
const NEXT_MS = 100;

type Choose = (lines: Line[]) => Line | undefined | Promise<Line | undefined>;

/** Finds runtimes for runs and calls, waiting for one that is just reconnecting. */
export type Choice = Pick<FunctionGateway, "session" | "assign" | "prepare" | "connected">;

export function createChoice(options: {
  directory: Directory;
  manifests: Manifests;
  store: RuntimeStore;
  clock: Clock;
  /** How long a runtime is waited for. */
  arrivalMs: number;
  /** How long a connected runtime has to check the context of a query. */
  prepareMs: number;
  /** Ends every wait: a gateway that is closed has no runtimes, which says nothing about the agent. */
  closed: AbortSignal;
}): Choice {
  const { directory, manifests, store, clock, arrivalMs, prepareMs, closed } = options;
  let turn = 0;

  const availableOf = (agentId: string): Line[] => directory.of(agentId).filter((line) => line.available);

  async function awaitLine(agentId: string, choose: Choose, signal: AbortSignal): Promise<Line | undefined> {
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
    const recent = await seenRecently(agentId);
    check();
    return (await find()) ?? (recent ? arrival(agentId, find, signal) : undefined);
  }

  /** A store that is out of reach says nothing against the agent: its runtime is waited for. */
  async function seenRecently(agentId: string): Promise<boolean> {
    try {
      const agoMs = await store.lastSeenAgoMs(agentId);
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

  /** The newest function set; of a remote one it is read before it counts. */
  async function newest(lines: Line[]): Promise<(FunctionSession & { line: Line }) | undefined> {
    for (const line of lines.toSorted((a, b) => b.order - a.order)) {
      const manifest = await manifests.read(line);
      if (manifest) return { line, manifest, manifestHash: line.identity.manifestHash };
    }
    return undefined;
  }

  /** Lines that have the function under another function set. */
  async function offering(lines: Line[], functionName: string): Promise<Line[]> {
    const offers = await Promise.all(
      lines.map(async (line) => {
        const manifest = await manifests.read(line);
        return manifest?.functions.some(({ name }) => name === functionName) ?? false;
      }),
    );
    return lines.filter((_, index) => offers[index]);
  }

  return {
    async session(agentId, { signal }) {
      let found: FunctionSession | undefined;
      const choose: Choose = async (lines) => {
        const session = await newest(lines);
        found = session && { manifest: session.manifest, manifestHash: session.manifestHash };
        return session?.line;
      };
      await awaitLine(agentId, choose, signal);
      return found;
    },

    async assign(agentId, manifestHash, functionName, { signal }) {
      const own = (lines: Line[]): Line[] => lines.filter((line) => line.identity.manifestHash === manifestHash);
      const choose: Choose = async (known) => {
        let lines = known;
        let line = leastLoaded(own(lines).filter((line) => line.reachable));
        if (!line) {
          // Before a run is given another function set than its own, whoever may have its own is looked for.
          await directory.freshen(agentId);
          lines = availableOf(agentId);
          const others = await offering(lines, functionName);
          line =
            leastLoaded(own(lines).filter((line) => line.reachable)) ??
            leastLoaded(others.filter((line) => line.reachable)) ??
            leastLoaded(own(lines)) ??
            leastLoaded(others);
        }
        // Noted while choosing: the next call of a burst is assigned before this one is on its line.
        if (line) line.turn = ++turn;
        line?.reserved.add();
        return line;
      };
      return (await awaitLine(agentId, choose, signal))?.identity.instanceId;
    },

    async prepare(agentId, manifestHash, input, { signal }) {
      const late = AbortSignal.timeout(arrivalMs + prepareMs);
      const either = AbortSignal.any([signal, late]);
      const choose: Choose = (lines) =>
        leastLoaded(lines.filter((line) => line.reachable && line.identity.manifestHash === manifestHash)) ??
        leastLoaded(lines);
      try {
        while (!either.aborted) {
          const line = await awaitLine(agentId, choose, either);
          const silent = AbortSignal.timeout(prepareMs);
          const prepared = line && (await line.prepare(input, AbortSignal.any([either, silent])));
          if (prepared || !line || silent.aborted) return prepared;
          line.turn = ++turn;
          if (!line.local) await clock.sleep(NEXT_MS, { signal: either });
        }
      } catch (error) {
        if (!late.aborted) throw error;
      }
      signal.throwIfAborted();
      return undefined;
    },

    async connected(agentId) {
      const open = (): boolean => directory.of(agentId).some((line) => line.open);
      if (open()) return true;
      await directory.refresh(agentId);
      return open();
    },
  };
}

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
