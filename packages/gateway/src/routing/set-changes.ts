import type { Bus } from "@patchbay/engine/ports/bus";
import type { SetOrders } from "./set-order.ts";

/** Where a replica announces a renamed agent or a confirmed function set. */
const AGENTS = "agents";

/** Reports changes at any replica that may affect an agent's name or its functions for new runs. */
export class SetChanges implements Disposable {
  readonly #bus: Bus;
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #subscription: Disposable;

  constructor({ bus, orders }: { bus: Bus; orders: Pick<SetOrders, "expire"> }) {
    this.#bus = bus;
    this.#subscription = bus.subscribe(AGENTS, (agentId) => {
      if (typeof agentId !== "string") return;
      // The last order read still has the confirmed set as waiting.
      orders.expire(agentId);
      this.occurred(agentId);
    });
  }

  /** Reports a change to the agent at every replica. */
  announce(agentId: string): void {
    this.#bus.publish(AGENTS, agentId);
  }

  /** Reports a change that every replica learns in another way. */
  occurred(agentId: string): void {
    for (const changed of this.#listeners.get(agentId) ?? []) changed();
  }

  /** Calls `changed` after each change, until disposed. */
  on(agentId: string, changed: () => void): Disposable {
    const listeners = this.#listeners.get(agentId) ?? new Set();
    this.#listeners.set(agentId, listeners.add(changed));
    return {
      [Symbol.dispose]: () => {
        listeners.delete(changed);
        if (listeners.size === 0 && this.#listeners.get(agentId) === listeners) this.#listeners.delete(agentId);
      },
    };
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }
}
