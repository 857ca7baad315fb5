import type { Log } from "../ports/log.ts";
import { StoreUnavailable } from "../ports/run-store.ts";
import type { PlacedSet, RuntimeStore, SetIdentity } from "../ports/stores.ts";
import { type LineIdentity, setOf } from "./line.ts";

/** How long an order is used before it is read again: another replica may have noted a set, or a person confirmed one. */
const FRESH_MS = 1_000;
const KEEP_COUNT = 10_000;

/** The order of an agent's function sets: the newest one of each service, and those that runtimes have. */
export interface SetOrder {
  sets: readonly PlacedSet[];
  /** The place of a line's set; undefined where it was noted after the order was read. */
  placeOf(line: LineIdentity): PlacedSet | undefined;
}

/** The orders of all agents, as the store has them. */
export interface SetOrders {
  /** At most a second old, or as it was last read while the store is out of reach. Empty where it was never read. */
  read(agentId: string): Promise<SetOrder>;
  /** As `read`, from the store as it is now. */
  refresh(agentId: string): Promise<SetOrder>;
  /** What was read until now is no longer used. */
  expire(agentId: string): void;
}

interface Known {
  order: SetOrder;
  /** When the store was asked. */
  readAt: number;
  reading: Promise<void> | undefined;
}

export function createSetOrders({ store, log }: { store: RuntimeStore; log: Log }): SetOrders {
  const agents = new Map<string, Known>();

  function knownOf(agentId: string): Known {
    const known = agents.get(agentId) ?? { order: EMPTY, readAt: Number.NEGATIVE_INFINITY, reading: undefined };
    agents.set(agentId, known);
    if (agents.size > KEEP_COUNT) agents.delete(agents.keys().next().value ?? agentId);
    return known;
  }

  async function load(agentId: string, known: Known): Promise<void> {
    known.readAt = performance.now();
    try {
      known.order = orderOf(await store.setOrder(agentId));
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      log.debug("the order of function sets could not be read", { agentId, error });
    } finally {
      known.reading = undefined;
    }
  }

  async function read(agentId: string, freshAt: number): Promise<SetOrder> {
    const known = knownOf(agentId);
    // What is being read was asked for too early where `freshAt` is later: it is awaited, and read again.
    if (known.reading && known.readAt < freshAt) await known.reading;
    if (known.readAt < freshAt) known.reading = load(agentId, known);
    await known.reading;
    return known.order;
  }

  return {
    read: (agentId) => read(agentId, performance.now() - FRESH_MS),
    refresh: (agentId) => read(agentId, performance.now()),
    expire: (agentId) => void (knownOf(agentId).readAt = Number.NEGATIVE_INFINITY),
  };
}

const EMPTY: SetOrder = { sets: [], placeOf: () => undefined };

function orderOf(sets: readonly PlacedSet[]): SetOrder {
  const places = new Map(sets.map((set) => [keyOf(set), set]));
  return { sets, placeOf: (line) => places.get(keyOfLine(line)) };
}

const keyOf = (set: SetIdentity): string => JSON.stringify([set.service, set.deployment, set.named, set.manifestHash]);

const keys = new WeakMap<LineIdentity, string>();

function keyOfLine(line: LineIdentity): string {
  const known = keys.get(line);
  if (known !== undefined) return known;
  const key = keyOf(setOf(line));
  keys.set(line, key);
  return key;
}
