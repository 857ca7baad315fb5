import type { Access, Decision } from "@patchbay/functions";
import type { DeskContext } from "./context.ts";
import type { Order } from "./data/shape.ts";
import type { RetailStore } from "./store.ts";

export const DESK = ["customer", "agent", "manager"];
export const STAFF = ["agent", "manager"];
export const MANAGERS = ["manager"];

/** Above this first payment only a manager may cancel or return. */
const LIMIT = 5000;

const NOT_OWN_ACCOUNT = "Not permitted: customers may use their own account alone.";
const NOT_OWN_ORDER = "Not permitted: customers may use their own orders alone.";
const ABOVE_LIMIT = `Not permitted: an order whose first payment is above ${LIMIT} is a manager's to cancel or return.`;

type Rule<Input> = (access: Access<Input, DeskContext>) => Decision;

/** The rules behind the role lists. A customer learns nothing of ids: an unknown one is refused as a foreign one is. */
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
      // An unknown order is let through to staff: the handler says that it is not there.
      if (owned !== true || access.role === "manager" || order === undefined) return owned;
      return isWithinLimit(order) || ABOVE_LIMIT;
    },
  };
}

/** An order without any payment has no amount to compare: it is not within the limit. */
export function isWithinLimit({ payment_history: [first] }: Order): boolean {
  return first !== undefined && first.amount <= LIMIT;
}
