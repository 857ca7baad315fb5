import { FunctionError } from "@patchbay/functions";
import { z } from "zod";
import type { DeskCases } from "../cases.ts";
import { defineFunction } from "../context.ts";
import { Order } from "../data/shape.ts";
import { roundMoney } from "../money.ts";
import { isGiftCardId, lacksBalance } from "../payments.ts";
import { DESK, type DeskPolicy } from "../policy.ts";
import { firstUnheldItem, planReplacements } from "../replacement.ts";
import { findOrder, findPaymentMethod, type RetailStore } from "../store.ts";
import { itemIds, newItemIds, orderId, paymentMethodId } from "./parameters.ts";

export function orderFunctions(store: RetailStore, policy: DeskPolicy, cases: DeskCases) {
  return [
    defineFunction({
      name: "get_order_details",
      description:
        "Gets the details of an order: its status (such as pending, processed, delivered or cancelled), items with prices and options, shipping address, tracking ids of its deliveries, payment history and the user who owns it.",
      input: z.object({ order_id: orderId }),
      output: Order,
      roles: DESK,
      authorize: policy.ownOrder,
      cases: cases.order({}),
      effect: "read",
      handler: ({ order_id }) => structuredClone(findOrder(store, order_id)),
    }),

    defineFunction({
      name: "exchange_delivered_order_items",
      description:
        "Requests the exchange of items of an order whose status is delivered for other variants of the same products. Works once per order, so collect all items first. Ask for a clear yes before calling.",
      input: z.object({
        order_id: orderId,
        item_ids: itemIds,
        new_item_ids: newItemIds,
        payment_method_id: paymentMethodId.describe(
          "Id of the owner's payment method that pays or receives the price difference",
        ),
      }),
      output: Order,
      roles: DESK,
      authorize: policy.ownOrder,
      cases: cases.order({ item_ids: [], new_item_ids: [], payment_method_id: "paypal_0000000" }),
      effect: "write",
      targets: { order_id: "trusted", payment_method_id: "trusted" },
      handler: ({ order_id, item_ids, new_item_ids, payment_method_id }) => {
        const order = findOrder(store, order_id);
        if (order.status !== "delivered") throw new FunctionError("non-delivered order cannot be exchanged");
        const difference = roundMoney(planReplacements(store, order, item_ids, new_item_ids).difference);
        const method = findPaymentMethod(store, order, payment_method_id);
        if (lacksBalance(method, difference)) {
          throw new FunctionError("insufficient gift card balance to pay for the price difference");
        }
        order.status = "exchange requested";
        order.exchange_items = item_ids.toSorted();
        order.exchange_new_items = new_item_ids.toSorted();
        order.exchange_payment_method_id = payment_method_id;
        order.exchange_price_difference = difference;
        return structuredClone(order);
      },
    }),

    defineFunction({
      name: "return_delivered_order_items",
      description:
        "Requests the return of items of an order whose status is delivered. The refund goes to the original payment method or to a gift card. Ask for a clear yes before calling.",
      input: z.object({
        order_id: orderId,
        item_ids: itemIds,
        payment_method_id: paymentMethodId.describe(
          "Id of the payment method that gets the refund: the one that paid the order, or a gift card of its owner",
        ),
      }),
      output: Order,
      roles: DESK,
      authorize: policy.ownOrderWithinLimit,
      cases: cases.limitedOrder({ item_ids: [], payment_method_id: "paypal_0000000" }),
      effect: "write",
      targets: { order_id: "trusted", payment_method_id: "trusted" },
      handler: ({ order_id, item_ids, payment_method_id }) => {
        const order = findOrder(store, order_id);
        if (order.status !== "delivered") throw new FunctionError("non-delivered order cannot be returned");
        findPaymentMethod(store, order, payment_method_id);
        if (!isGiftCardId(payment_method_id) && payment_method_id !== order.payment_history[0]?.payment_method_id) {
          throw new FunctionError("payment method should be either the original payment method or a gift card");
        }
        if (firstUnheldItem(order, item_ids) !== undefined) throw new FunctionError("some item not found");
        order.status = "return requested";
        order.return_items = item_ids.toSorted();
        order.return_payment_method_id = payment_method_id;
        return structuredClone(order);
      },
    }),
  ];
}
