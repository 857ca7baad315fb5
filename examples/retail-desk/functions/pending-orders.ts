import { FunctionError } from "@patchbay/functions";
import { z } from "zod";
import type { DeskCases } from "../cases.ts";
import { defineFunction } from "../context.ts";
import { Order, type Payment } from "../data/shape.ts";
import { charge, lacksBalance, refundGiftCard } from "../payments.ts";
import { DESK, type DeskPolicy } from "../policy.ts";
import { planReplacements, replaceItems } from "../replacement.ts";
import { findOrder, findPaymentMethod, type RetailStore } from "../store.ts";
import { addressProperties, EXAMPLE_ADDRESS, itemIds, newItemIds, orderId, paymentMethodId } from "./parameters.ts";

interface Desk {
  store: RetailStore;
  policy: DeskPolicy;
  cases: DeskCases;
}

export function pendingOrderFunctions(store: RetailStore, policy: DeskPolicy, cases: DeskCases) {
  const desk: Desk = { store, policy, cases };
  return [cancelOrder(desk), modifyAddress(desk), modifyPayment(desk), modifyItems(desk)];
}

function cancelOrder({ store, policy, cases }: Desk) {
  return defineFunction({
    name: "cancel_pending_order",
    description:
      "Cancels an order whose status is pending and refunds what was paid. Cannot be undone. Ask for the reason and a clear yes before calling.",
    input: z.object({
      order_id: orderId,
      reason: z.enum(["no longer needed", "ordered by mistake"]).describe("Why the customer cancels"),
    }),
    output: Order,
    roles: DESK,
    authorize: policy.ownOrderWithinLimit,
    cases: cases.limitedOrder({ reason: "no longer needed" as const }),
    effect: "destructive",
    targets: { order_id: "trusted" },
    handler: ({ order_id, reason }) => {
      const order = findOrder(store, order_id);
      if (order.status !== "pending") throw new FunctionError("non-pending order cannot be cancelled");
      const refunds = order.payment_history.map(({ amount, payment_method_id }): Payment => {
        refundGiftCard(store, order, payment_method_id, amount);
        return { transaction_type: "refund", amount, payment_method_id };
      });
      order.status = "cancelled";
      order.cancel_reason = reason;
      order.payment_history.push(...refunds);
      return structuredClone(order);
    },
  });
}

function modifyAddress({ store, policy, cases }: Desk) {
  return defineFunction({
    name: "modify_pending_order_address",
    description:
      "Changes the shipping address of an order whose status is pending. Ask for a clear yes before calling.",
    input: z.object({ order_id: orderId, ...addressProperties }),
    output: Order,
    roles: DESK,
    authorize: policy.ownOrder,
    cases: cases.order(EXAMPLE_ADDRESS),
    effect: "write",
    targets: { order_id: "trusted", address1: "caller" },
    handler: ({ order_id, ...address }) => {
      const order = findModifiable(store, order_id);
      order.address = address;
      return structuredClone(order);
    },
  });
}

function modifyPayment({ store, policy, cases }: Desk) {
  return defineFunction({
    name: "modify_pending_order_payment",
    description:
      "Changes the payment method of an order whose status is pending: the new method pays, the former one is refunded. Ask for a clear yes before calling.",
    input: z.object({ order_id: orderId, payment_method_id: paymentMethodId }),
    output: Order,
    roles: DESK,
    authorize: policy.ownOrder,
    cases: cases.order({ payment_method_id: "paypal_0000000" }),
    effect: "write",
    targets: { order_id: "trusted", payment_method_id: "trusted" },
    handler: ({ order_id, payment_method_id }) => {
      const order = findModifiable(store, order_id);
      const method = findPaymentMethod(store, order, payment_method_id);
      const [first, ...later] = order.payment_history;
      if (first?.transaction_type !== "payment" || later.length > 0) {
        throw new FunctionError("there should be exactly one payment for a pending order");
      }
      if (first.payment_method_id === payment_method_id) {
        throw new FunctionError("the new payment method should be different from the current one");
      }
      const { amount } = first;
      if (lacksBalance(method, amount)) {
        throw new FunctionError("insufficient gift card balance to pay for the order");
      }
      charge(method, amount);
      refundGiftCard(store, order, first.payment_method_id, amount);
      order.payment_history.push(
        { transaction_type: "payment", amount, payment_method_id },
        { transaction_type: "refund", amount, payment_method_id: first.payment_method_id },
      );
      return structuredClone(order);
    },
  });
}

function modifyItems({ store, policy, cases }: Desk) {
  return defineFunction({
    name: "modify_pending_order_items",
    description:
      "Replaces items of an order whose status is pending by other variants of the same products and settles the price difference. Works once per order, so collect all items first. Ask for a clear yes before calling.",
    input: z.object({
      order_id: orderId,
      item_ids: itemIds,
      new_item_ids: newItemIds,
      payment_method_id: paymentMethodId,
    }),
    output: Order,
    roles: DESK,
    authorize: policy.ownOrder,
    cases: cases.order({ item_ids: [], new_item_ids: [], payment_method_id: "paypal_0000000" }),
    effect: "write",
    targets: { order_id: "trusted", payment_method_id: "trusted" },
    handler: ({ order_id, item_ids, new_item_ids, payment_method_id }) => {
      const order = findModifiable(store, order_id);
      const { replacements, difference } = planReplacements(store, order, item_ids, new_item_ids);
      const method = findPaymentMethod(store, order, payment_method_id);
      if (lacksBalance(method, difference)) {
        throw new FunctionError("insufficient gift card balance to pay for the new item");
      }
      order.payment_history.push({
        transaction_type: difference > 0 ? "payment" : "refund",
        amount: Math.abs(difference),
        payment_method_id,
      });
      charge(method, difference);
      replaceItems(order, replacements);
      order.status = "pending (item modified)";
      return structuredClone(order);
    },
  });
}

function findModifiable(store: RetailStore, order_id: string): Order {
  const order = findOrder(store, order_id);
  if (order.status !== "pending") throw new FunctionError("non-pending order cannot be modified");
  return order;
}
