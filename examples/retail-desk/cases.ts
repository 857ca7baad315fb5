import type { FunctionCase } from "@patchbay/functions";
import type { Order } from "./data/shape.ts";
import { isWithinLimit } from "./policy.ts";
import type { RetailStore } from "./store.ts";

type Cases<Input> = Record<string, FunctionCase<Input>>;

/**
 * Calls with which the access matrix checks the desk's policy. `rest` are the arguments besides the id. A case is missing
 * when the records have no matching order.
 */
export interface DeskCases {
  account<Rest extends object>(rest: Rest): Cases<{ user_id: string } & Rest>;
  order<Rest extends object>(rest: Rest): Cases<{ order_id: string } & Rest>;
  limitedOrder<Rest extends object>(rest: Rest): Cases<{ order_id: string } & Rest>;
  /** Refunds of an amount that needs no approval, and of one that does. */
  goodwill(refund: { small: number; large: number; reason: string }): Cases<Goodwill>;
}

interface Goodwill {
  order_id: string;
  amount: number;
  reason: string;
}

const UNKNOWN_ORDER = "#W0";
const UNKNOWN_USER = "unknown_user";

export function createDeskCases({ orders, users }: RetailStore): DeskCases {
  const all = [...orders.values()];
  const own = all.find(isWithinLimit);
  const foreign = all.find((order) => isWithinLimit(order) && order.user_id !== own?.user_id);
  const costly = all.find((order) => order.payment_history.length > 0 && !isWithinLimit(order));
  const [me = UNKNOWN_USER, other] = users.keys();

  const about = (order_id: string, customerId?: string) => ({
    input: { order_id },
    context: customerId === undefined ? {} : { customerId },
  });
  const orderCases: Cases<{ order_id: string }> = {
    ...(own && { ownOrder: about(own.order_id, own.user_id), withoutCustomerId: about(own.order_id) }),
    ...(foreign && { foreignOrder: about(foreign.order_id, own?.user_id) }),
    unknownOrder: about(UNKNOWN_ORDER, own?.user_id),
    unknownWithoutId: about(UNKNOWN_ORDER),
  };
  const accountCases: Cases<{ user_id: string }> = {
    ownAccount: { input: { user_id: me }, context: { customerId: me } },
    ...(other !== undefined && { foreignAccount: { input: { user_id: other }, context: { customerId: me } } }),
    unknownAccount: { input: { user_id: UNKNOWN_USER }, context: { customerId: UNKNOWN_USER } },
    withoutCustomerId: { input: { user_id: me } },
  };
  const limitCases = { ...orderCases, ...ownAboveLimit(costly) };
  return {
    account: (rest) => extend(accountCases, rest),
    order: (rest) => extend(orderCases, rest),
    limitedOrder: (rest) => extend(limitCases, rest),
    goodwill: ({ small, large, reason }) => {
      const paid = all.find(
        ({ status, payment_history: [first] }) => status === "delivered" && (first?.amount ?? 0) > large,
      );
      const refunded = all.find(({ status }) => status === "cancelled");
      const [first] = paid?.payment_history ?? [];
      const of = (order_id: string, amount: number) => ({ input: { order_id, amount, reason } });
      return {
        ...(paid && { smallRefund: of(paid.order_id, small), largeRefund: of(paid.order_id, large) }),
        ...(paid &&
          first && {
            wholeRefund: of(paid.order_id, first.amount),
            excessiveRefund: of(paid.order_id, first.amount + 1),
          }),
        ...(refunded && { refundedOrder: of(refunded.order_id, large) }),
        unknownOrder: of(UNKNOWN_ORDER, large),
      };
    },
  };

  function ownAboveLimit(order: Order | undefined): Cases<{ order_id: string }> {
    return order === undefined ? {} : { ownOrderAboveLimit: about(order.order_id, order.user_id) };
  }
}

function extend<Input extends object, Rest extends object>(cases: Cases<Input>, rest: Rest): Cases<Input & Rest> {
  return Object.fromEntries(
    Object.entries(cases).map(([name, one]) => [name, { ...one, input: { ...one.input, ...rest } }]),
  );
}
