import { createKeyedSets } from "@patchbay/engine/ports/by-key";
import type { GatewayContext } from "../context.ts";
import type { SetOrders } from "./set-order.ts";

/** Where a replica announces a renamed agent or a confirmed function set. */
const AGENTS = "agents";

/** Reports changes at any replica that may affect an agent's name or its functions for new runs. */
export function createSetChanges({ bus, orders }: Pick<GatewayContext, "bus"> & { orders: Pick<SetOrders, "expire"> }) {
  const listeners = createKeyedSets<() => void>();

  function occurred(agentId: string): void {
    for (const changed of listeners.of(agentId)) changed();
  }

  const subscription = bus.subscribe(AGENTS, (agentId) => {
    if (typeof agentId !== "string") return;
    // The last order read still has the confirmed set as waiting.
    orders.expire(agentId);
    occurred(agentId);
  });
  return {
    /** Reports a change to the agent at every replica. */
    announce: (agentId: string): void => bus.publish(AGENTS, agentId),
    /** Reports a change that every replica learns in another way. */
    occurred,
    /** Calls `changed` after each change, until disposed. */
    on: listeners.add,
    [Symbol.dispose]: () => subscription[Symbol.dispose](),
  };
}
