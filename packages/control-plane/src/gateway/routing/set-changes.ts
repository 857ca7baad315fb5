import type { Bus } from "../../ports/bus.ts";
import type { SetOrders } from "./set-order.ts";

/** Where a replica announces an agent whose name was changed, or whose function set was confirmed. */
const AGENTS = "agents";

/** Reports whatever may change the functions that new runs of an agent get, or its name, at whichever replica it happens. */
export class SetChanges implements Disposable {
  readonly #bus: Bus;
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #subscription: Disposable;

  constructor({ bus, orders }: { bus: Bus; orders: Pick<SetOrders, "expire"> }) {
    this.#bus = bus;
    this.#subscription = bus.subscribe(AGENTS, (agentId) => {
      if (typeof agentId !== "string") return;
      // The order as last read has the confirmed set as one that waits.
      orders.expire(agentId);
      this.occurred(agentId);
    });
  }

  /** Reports a change of the agent at every replica. */
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
