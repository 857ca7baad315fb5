import { monotonicMs } from "@patchbay/kit/time";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import type { PlacedSet, SetIdentity } from "@patchbay/engine/ports/store/stores";
import { type ConnectionIdentity, setOf } from "../channel.ts";
import type { GatewayContext } from "../context.ts";

/** An order is read again after this time: another replica may have registered a set, or a member confirmed one. */
const FRESH_MS = 1_000;
const MAX_AGENTS = 10_000;

/** The order of an agent's function sets: each service's newest, and those that runtimes have. */
export interface SetOrder {
  sets: readonly PlacedSet[];
  /** Where a connection's set is; undefined if it was registered after the order was read. */
  placeOf(connection: ConnectionIdentity): PlacedSet | undefined;
}

interface Known {
  order: SetOrder;
  /** When the store was asked. */
  readAt: number;
  reading: Promise<void> | undefined;
}

/** Reads function set orders from the store, and keeps each for a second. */
export function createSetOrders({ store, log }: Pick<GatewayContext, "store" | "log">) {
  const agents = new Map<string, Known>();

  async function read(agentId: string, freshAt: number): Promise<SetOrder> {
    const known = knownOf(agentId);
    // A read that began before `freshAt` may miss a set registered since: it is awaited, and the order read again.
    if (known.reading && known.readAt < freshAt) await known.reading;
    if (known.readAt < freshAt) known.reading = load(agentId, known);
    await known.reading;
    return known.order;
  }

  async function load(agentId: string, known: Known): Promise<void> {
    known.readAt = monotonicMs();
    try {
      known.order = orderOf(await store.setOrder(agentId));
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      log.debug("order of function sets could not be read", { agentId, error });
    } finally {
      known.reading = undefined;
    }
  }

  function knownOf(agentId: string): Known {
    const known = agents.get(agentId) ?? { order: EMPTY, readAt: Number.NEGATIVE_INFINITY, reading: undefined };
    agents.set(agentId, known);
    if (agents.size > MAX_AGENTS) agents.delete(agents.keys().next().value ?? agentId);
    return known;
  }

  return {
    /** At most a second old. While the store is unavailable, the order as last read; empty if it was never read. */
    read: (agentId: string): Promise<SetOrder> => read(agentId, monotonicMs() - FRESH_MS),
    /** As `read`, from the store's current state. */
    refresh: (agentId: string): Promise<SetOrder> => read(agentId, monotonicMs()),
    /** Makes the next `read` ask the store. */
    expire: (agentId: string): void => void (knownOf(agentId).readAt = Number.NEGATIVE_INFINITY),
  };
}
export type SetOrders = ReturnType<typeof createSetOrders>;

const EMPTY: SetOrder = { sets: [], placeOf: () => undefined };

function orderOf(sets: readonly PlacedSet[]): SetOrder {
  const places = new Map(sets.map((set) => [keyOf(set), set]));
  return { sets, placeOf: (connection) => places.get(keyOfConnection(connection)) };
}

const keyOf = (set: SetIdentity): string => JSON.stringify([set.service, set.deployment, set.named, set.manifestHash]);

/** Each query looks up all its agent's connections, so keys are built once. */
const keys = new WeakMap<ConnectionIdentity, string>();

function keyOfConnection(connection: ConnectionIdentity): string {
  const known = keys.get(connection);
  if (known !== undefined) return known;
  const key = keyOf(setOf(connection));
  keys.set(connection, key);
  return key;
}
