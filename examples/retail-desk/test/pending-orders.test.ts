import { expect, test } from "vitest";
import type { Order, User } from "../data/shape.ts";
import { ADDRESS, addMethod, anOrder, balanceOf, openDesk, ownerOf, type Desk } from "./desk-calls.ts";

const CANCEL = { reason: "no longer needed" };
const isPending = (order: Order) => order.status === "pending";
const paidByGiftCard = (order: Order) => isPending(order) && methodOf(order).startsWith("gift_card");
const paidOtherwise = (order: Order) => isPending(order) && !methodOf(order).startsWith("gift_card");

function methodOf(order: Order): string {
  return order.payment_history[0]?.payment_method_id ?? "";
}

function giftCard(desk: Desk, order: Order, balance: number): string {
  return addMethod(desk, order, { source: "gift_card", id: "gift_card_0000001", balance });
}

test("cancel_pending_order refunds every entry of the history, of any type", async () => {
  const desk = openDesk();
  const order = anOrder(desk, paidByGiftCard);
  const method = methodOf(order);
  Object.assign(ownerOf(desk, order).payment_methods[method]!, { balance: 10.01 });
  order.payment_history = [
    { transaction_type: "payment", amount: 20.3, payment_method_id: method },
    { transaction_type: "refund", amount: 5.124, payment_method_id: method },
  ];
  const cancelled = await desk.succeed<Order>("cancel_pending_order", { order_id: order.order_id, ...CANCEL });
  expect(cancelled).toMatchObject({ status: "cancelled", cancel_reason: "no longer needed" });
  expect(cancelled.payment_history.slice(2)).toEqual([
    { transaction_type: "refund", amount: 20.3, payment_method_id: method },
    { transaction_type: "refund", amount: 5.124, payment_method_id: method },
  ]);
  expect(balanceOf(desk, order, method)).toBe(35.43);
});

test("cancel_pending_order does not change balances of an order paid by other methods", async () => {
  const desk = openDesk();
  const order = anOrder(desk, paidOtherwise);
  const card = giftCard(desk, order, 7);
  await desk.succeed("cancel_pending_order", { order_id: order.order_id, reason: "ordered by mistake" });
  expect(balanceOf(desk, order, card)).toBe(7);
});

test("cancel_pending_order fails for an unknown order, then for one not pending, and accepts only two reasons", async () => {
  const desk = openDesk();
  expect(await desk.fail("cancel_pending_order", { order_id: "#W0", ...CANCEL })).toBe("order not found");
  for (const status of ["processed", "delivered", "cancelled", "pending (item modified)", "Pending"]) {
    const order = anOrder(desk, isPending);
    order.status = status;
    expect(await desk.fail("cancel_pending_order", { order_id: order.order_id, ...CANCEL })).toBe(
      "non-pending order cannot be cancelled",
    );
  }
  const { order_id } = anOrder(desk, isPending);
  await desk.fail("cancel_pending_order", { order_id, reason: "changed my mind" });
});

test("the two reasons to cancel are an enum in the schema", async () => {
  const { default: service } = await import("../service.ts");
  const cancel = service.manifest.functions.find((known) => known.name === "cancel_pending_order");
  expect(cancel?.inputSchema).toMatchObject({
    properties: { reason: { enum: ["no longer needed", "ordered by mistake"] } },
    required: ["order_id", "reason"],
  });
});

test("modify_pending_order_address replaces the order's address and keeps the user's", async () => {
  const desk = openDesk();
  const order = anOrder(desk, isPending);
  const home = structuredClone(ownerOf(desk, order).address);
  const changed = await desk.succeed("modify_pending_order_address", { order_id: order.order_id, ...ADDRESS });
  expect(changed).toEqual({ ...order, address: ADDRESS });
  expect(ownerOf(desk, order).address).toEqual(home);
});

test("modify_pending_order_address fails for an unknown order and for one not exactly pending", async () => {
  const desk = openDesk();
  expect(await desk.fail("modify_pending_order_address", { order_id: "#W0", ...ADDRESS })).toBe("order not found");
  const order = anOrder(desk, isPending);
  order.status = "pending (item modified)";
  expect(await desk.fail("modify_pending_order_address", { order_id: order.order_id, ...ADDRESS })).toBe(
    "non-pending order cannot be modified",
  );
});

test("modify_user_address replaces the user's address and keeps those of the orders", async () => {
  const desk = openDesk();
  const order = anOrder(desk, isPending);
  const before = structuredClone(order.address);
  const user = await desk.succeed<User>("modify_user_address", { user_id: order.user_id, ...ADDRESS });
  expect(user).toEqual({ ...ownerOf(desk, order), address: ADDRESS });
  expect(order.address).toEqual(before);
  expect(await desk.fail("modify_user_address", { user_id: "constructor", ...ADDRESS })).toBe("user not found");
});

test("modify_pending_order_payment charges a gift card with exactly the amount", async () => {
  const desk = openDesk();
  const order = anOrder(desk, paidOtherwise);
  const former = order.payment_history[0]!;
  const card = giftCard(desk, order, former.amount);
  const changed = await desk.succeed<Order>("modify_pending_order_payment", {
    order_id: order.order_id,
    payment_method_id: card,
  });
  expect(changed).toMatchObject({ status: "pending" });
  expect(changed.payment_history).toEqual([
    former,
    { transaction_type: "payment", amount: former.amount, payment_method_id: card },
    { transaction_type: "refund", amount: former.amount, payment_method_id: former.payment_method_id },
  ]);
  expect(balanceOf(desk, order, card)).toBe(0);
});

test("modify_pending_order_payment refunds a gift card that had paid", async () => {
  const desk = openDesk();
  const order = anOrder(desk, paidByGiftCard);
  const former = order.payment_history[0]!;
  Object.assign(ownerOf(desk, order).payment_methods[former.payment_method_id]!, { balance: 0.1 });
  former.amount = 0.2;
  const card = giftCard(desk, order, 1);
  await desk.succeed("modify_pending_order_payment", { order_id: order.order_id, payment_method_id: card });
  expect(balanceOf(desk, order, former.payment_method_id)).toBe(0.3);
  expect(balanceOf(desk, order, card)).toBe(0.8);
});

test("modify_pending_order_payment checks in the order of its error texts", async () => {
  const desk = openDesk();
  const fail = (order_id: string, payment_method_id: string) =>
    desk.fail("modify_pending_order_payment", { order_id, payment_method_id });
  const order = anOrder(desk, paidOtherwise);
  const { order_id } = order;
  const first = order.payment_history[0]!;
  const own = first.payment_method_id;

  expect(await fail("#W0", own)).toBe("order not found");
  order.status = "processed";
  expect(await fail(order_id, "none")).toBe("non-pending order cannot be modified");
  order.status = "pending";
  order.payment_history.push({ ...first });
  for (const unknown of ["none", "constructor", "__proto__"]) {
    expect(await fail(order_id, unknown)).toBe("payment method not found");
  }
  const foreign = anOrder(desk, (other) => other.user_id !== order.user_id);
  expect(await fail(order_id, methodOf(foreign))).toBe("payment method not found");
  expect(await fail(order_id, own)).toBe("there should be exactly one payment for a pending order");
  order.payment_history = [{ ...first, transaction_type: "refund" }];
  expect(await fail(order_id, own)).toBe("there should be exactly one payment for a pending order");
  order.payment_history = [first];
  expect(await fail(order_id, own)).toBe("the new payment method should be different from the current one");
  const card = giftCard(desk, order, first.amount - 0.01);
  expect(await fail(order_id, card)).toBe("insufficient gift card balance to pay for the order");
});

test("an order paid by a gift card reports the same method before an insufficient balance", async () => {
  const desk = openDesk();
  const order = anOrder(desk, paidByGiftCard);
  const current = methodOf(order);
  Object.assign(ownerOf(desk, order).payment_methods[current]!, { balance: 0 });
  const args = { order_id: order.order_id, payment_method_id: current };
  expect(await desk.fail("modify_pending_order_payment", args)).toBe(
    "the new payment method should be different from the current one",
  );
});
