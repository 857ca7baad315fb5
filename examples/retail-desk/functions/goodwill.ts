import { FunctionError } from "@patchbay/functions";
import { z } from "zod";
import type { DeskCases } from "../cases.ts";
import { defineFunction } from "../context.ts";
import { Order } from "../data/shape.ts";
import { roundMoney } from "../money.ts";
import { refundGiftCard } from "../payments.ts";
import { STAFF } from "../policy.ts";
import { findOrder, type RetailStore } from "../store.ts";
import { orderId } from "./parameters.ts";

/** An agent may refund this much as goodwill without a manager. */
const LIMIT = 100;

export function goodwillFunctions(store: RetailStore, cases: DeskCases) {
  return [
    defineFunction({
      name: "grant_goodwill_refund",
      title: "Goodwill refund",
      tags: ["refunds"],
      description:
        "Refunds a part of what an order cost to its first payment method, as goodwill and without a return. Ask for a clear yes before calling.",
      input: z.object({
        order_id: orderId,
        amount: z.number().positive().describe("Amount of the refund, such as 12.5"),
        reason: z.string().max(200).describe("Why the customer gets the refund"),
      }),
      examples: [{ order_id: "#W0000000", amount: 12.5, reason: "The parcel arrived a week late." }],
      output: Order,
      roles: STAFF,
      approval: {
        by: ["manager"],
        // A person is not asked about a refund that the handler refuses.
        when: ({ role, input: { order_id, amount } }) => {
          const order = store.orders.get(order_id);
          if (role === "manager" || amount <= LIMIT || order === undefined || amount > refundable(order)) return false;
          return `A goodwill refund above ${LIMIT} needs a manager: ${amount} of ${refundable(order)} paid.`;
        },
        expiresIn: "8h",
        edit: ["amount"],
      },
      cases: cases.goodwill({ small: LIMIT, large: LIMIT + 0.01, reason: "The parcel arrived a week late." }),
      effect: "write",
      targets: { order_id: "trusted" },
      handler: ({ order_id, amount }) => {
        const order = findOrder(store, order_id);
        const [first] = order.payment_history;
        if (first === undefined || amount > refundable(order))
          throw new FunctionError(`the refund exceeds the ${refundable(order)} that were paid`);
        refundGiftCard(store, order, first.payment_method_id, amount);
        order.payment_history.push({ transaction_type: "refund", amount, payment_method_id: first.payment_method_id });
        return structuredClone(order);
      },
    }),
  ];
}

/** What was paid for an order and not refunded yet. */
function refundable({ payment_history }: Order): number {
  return roundMoney(
    payment_history.reduce((sum, one) => sum + (one.transaction_type === "payment" ? one.amount : -one.amount), 0),
  );
}
