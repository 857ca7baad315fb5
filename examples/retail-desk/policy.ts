import type { Access, Decision } from "@patchbay/functions";
import type { DeskContext } from "./context.ts";
import type { Order } from "./data/shape.ts";
import type { RetailStore } from "./store.ts";

export const DESK = ["customer", "agent", "manager"];
export const STAFF = ["agent", "manager"];
export const MANAGERS = ["manager"];

/** Only a manager may cancel or return an order with a first payment above this. */
const LIMIT = 5000;

const NOT_OWN_ACCOUNT = "Not permitted: customers may use only their own account.";
const NOT_OWN_ORDER = "Not permitted: customers may use only their own orders.";
const ABOVE_LIMIT = `Not permitted: only a manager may cancel or return an order whose first payment is above ${LIMIT}.`;

type Rule<Input> = (access: Access<Input, DeskContext>) => Decision;

/** The rules in addition to role lists. An unknown id is refused like a foreign one, so that a customer cannot probe ids. */
export interface DeskPolicy {
  ownAccount: Rule<{ user_id: string }>;
  ownOrder: Rule<{ order_id: string }>;
  ownOrderWithinLimit: Rule<{ order_id: string }>;
}

export function createDeskPolicy(store: RetailStore): DeskPolicy {
  const ownOrder: DeskPolicy["ownOrder"] = ({ role, context, input }) => {
    if (role !== "customer") return true;
    const owner = store.orders.get(input.order_id)?.user_id;
    return (owner !== undefined && owner === context.customerId) || NOT_OWN_ORDER;
  };
  return {
    ownAccount({ role, context, input }) {
      if (role !== "customer") return true;
      return (input.user_id === context.customerId && store.users.has(input.user_id)) || NOT_OWN_ACCOUNT;
    },
    ownOrder,
    ownOrderWithinLimit(access) {
      const order = store.orders.get(access.input.order_id);
      const owned = ownOrder(access);
      // Staff may pass with an unknown order: the handler answers that it does not exist.
      if (owned !== true || access.role === "manager" || order === undefined) return owned;
      return isWithinLimit(order) || ABOVE_LIMIT;
    },
  };
}

/** False for an order without a payment: it has no amount to compare. */
export function isWithinLimit({ payment_history: [first] }: Order): boolean {
  return first !== undefined && first.amount <= LIMIT;
}
