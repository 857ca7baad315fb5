import { describe, expect, test } from "vitest";
import type { Order } from "../data/shape.ts";
import { addMethod, anOrder, balanceOf, openDesk, replacementFor, type Desk } from "./desk-calls.ts";

const CASES = [
  {
    name: "modify_pending_order_items",
    status: "pending",
    card: "insufficient gift card balance to pay for the new item",
  },
  {
    name: "exchange_delivered_order_items",
    status: "delivered",
    card: "insufficient gift card balance to pay for the price difference",
  },
] as const;

/** An order with several different items, and a gift card of its owner. */
function arrange(status: string, balance = 1000) {
  const desk = openDesk();
  const order = anOrder(
    desk,
    ({ status: found, items }) =>
      found === status && items.length >= 3 && new Set(items.map((item) => item.product_id)).size === items.length,
  );
  const card = addMethod(desk, order, { source: "gift_card", id: "gift_card_0000001", balance });
  const ids = order.items.map((item) => item.item_id) as [string, string, string];
  return { desk, order, card, ids, prices: order.items.map((item) => item.price) as [number, number, number] };
}

function args(order: Order, item_ids: string[], new_item_ids: string[], payment_method_id: string) {
  return { order_id: order.order_id, item_ids, new_item_ids, payment_method_id };
}

describe.each(CASES)("$name", ({ name, status, card: cardText }) => {
  const failWith = (desk: Desk, ...request: Parameters<typeof args>) => desk.fail(name, args(...request));

  test("checks the order, its items, the lists' lengths, the new items, the method and the balance, in this order", async () => {
    const { desk, order, card, ids, prices } = arrange(status, 5);
    const dear = replacementFor(desk, order, 0, prices[0] + 6).item_id;
    const unknown = { ...order, order_id: "#W0" };
    expect(await failWith(desk, unknown, ["no"], [], "none")).toBe("order not found");
    expect(await failWith(desk, order, [ids[0], "no", "nor"], [], "none")).toBe("no not found");
    expect(await failWith(desk, order, ["constructor"], [], "none")).toBe("constructor not found");
    expect(await failWith(desk, order, [ids[0], "no", ids[0]], [], "none")).toBe(`${ids[0]} not found`);
    expect(await failWith(desk, order, [ids[0]], [], "none")).toBe("the number of items to be exchanged should match");
    expect(await failWith(desk, order, [], ["no"], "none")).toBe("the number of items to be exchanged should match");
    for (const wrong of ["no", "constructor", "__proto__", ids[1]]) {
      expect(await failWith(desk, order, [ids[0]], [wrong], "none")).toBe(`new item ${wrong} not found or available`);
    }
    expect(await failWith(desk, order, [ids[0]], [dear], "none")).toBe("payment method not found");
    expect(await failWith(desk, order, [ids[0]], [dear], card)).toBe(cardText);
  });

  test("refuses a variant that is not available", async () => {
    const { desk, order, card, ids } = arrange(status);
    const variant = replacementFor(desk, order, 0);
    variant.available = false;
    expect(await failWith(desk, order, [ids[0]], [variant.item_id], card)).toBe(
      `new item ${variant.item_id} not found or available`,
    );
  });

  test("is for one status only", async () => {
    const { desk, order, card } = arrange(status);
    const text =
      status === "pending" ? "non-pending order cannot be modified" : "non-delivered order cannot be exchanged";
    for (const other of ["processed", "cancelled", `${status} (item modified)`, status.toUpperCase()]) {
      order.status = other;
      expect(await failWith(desk, order, ["no"], [], card)).toBe(text);
    }
  });

  test("works once per order", async () => {
    const { desk, order, card } = arrange(status);
    await desk.succeed(name, args(order, [], [], card));
    expect(await failWith(desk, order, [], [], card)).toMatch(/^non-/);
  });
});

test("modify_pending_order_items exchanges the items, pays the difference unrounded and rounds the balance", async () => {
  const { desk, order, card, ids, prices } = arrange("pending");
  const before = structuredClone(order);
  const first = replacementFor(desk, order, 0, prices[0] + 0.1);
  const third = replacementFor(desk, order, 2, prices[2] + 0.2);
  const difference = first.price - prices[0] + (third.price - prices[2]);
  const request = args(order, [ids[0], ids[2]], [first.item_id, third.item_id], card);
  const changed = await desk.succeed<Order>("modify_pending_order_items", request);

  expect(changed.status).toBe("pending (item modified)");
  expect(changed.items).toEqual(
    before.items.map((item, i) => {
      const variant = { 0: first, 2: third }[i];
      if (!variant) return item;
      return { ...item, item_id: variant.item_id, price: variant.price, options: variant.options };
    }),
  );
  expect(changed.payment_history).toEqual([
    ...before.payment_history,
    { transaction_type: "payment", amount: difference, payment_method_id: card },
  ]);
  expect(balanceOf(desk, order, card)).toBe(999.7);
});

test("modify_pending_order_items refunds a lower price to the gift card", async () => {
  const { desk, order, card, ids, prices } = arrange("pending", 1);
  const cheap = replacementFor(desk, order, 0, prices[0] - 2.5);
  const request = args(order, [ids[0]], [cheap.item_id], card);
  const changed = await desk.succeed<Order>("modify_pending_order_items", request);
  expect(changed.payment_history.at(-1)).toEqual({
    transaction_type: "refund",
    amount: Math.abs(cheap.price - prices[0]),
    payment_method_id: card,
  });
  expect(balanceOf(desk, order, card)).toBe(3.5);
});

test("modify_pending_order_items with empty lists, or an item replaced by itself, is a refund of 0", async () => {
  for (const withItself of [false, true]) {
    const { desk, order, card, ids } = arrange("pending", 4);
    desk.store.products.get(order.items[0]!.product_id)!.variants[ids[0]]!.available = true;
    const list = withItself ? [ids[0]] : [];
    const changed = await desk.succeed<Order>("modify_pending_order_items", args(order, list, list, card));
    expect(changed.payment_history.at(-1)).toEqual({ transaction_type: "refund", amount: 0, payment_method_id: card });
    expect(balanceOf(desk, order, card)).toBe(4);
  }
});

test("modify_pending_order_items replaces pair by pair, so a later pair may replace an earlier one", async () => {
  const { desk, order, card } = arrange("pending");
  const [held, other] = order.items as [Order["items"][0], Order["items"][0]];
  const b = replacementFor(desk, order, 0);
  Object.assign(other, { product_id: held.product_id, name: held.name, item_id: b.item_id, price: b.price });
  const c = replacementFor(desk, order, 0);
  const request = args(order, [held.item_id, b.item_id], [b.item_id, c.item_id], card);
  const changed = await desk.succeed<Order>("modify_pending_order_items", request);
  expect(changed.items.slice(0, 2).map((item) => item.item_id)).toEqual([c.item_id, b.item_id]);
});

test("an item that an order contains twice may be listed twice, and its first price counts for both", async () => {
  const { desk, order, card, ids, prices } = arrange("pending");
  Object.assign(order.items[1]!, { ...order.items[0], price: prices[0] + 100 });
  const variant = replacementFor(desk, order, 0, prices[0] + 10);
  const thrice = [ids[0], ids[0], ids[0]];
  expect(await desk.fail("modify_pending_order_items", args(order, thrice, [], card))).toBe(`${ids[0]} not found`);
  const request = args(order, [ids[0], ids[0]], [variant.item_id, variant.item_id], card);
  const changed = await desk.succeed<Order>("modify_pending_order_items", request);
  expect(changed.items.slice(0, 2).map((item) => item.item_id)).toEqual([variant.item_id, variant.item_id]);
  expect(changed.payment_history.at(-1)?.amount).toBe(2 * (variant.price - prices[0]));
});

test("exchange_delivered_order_items records the request and changes no balance and no item", async () => {
  const { desk, order, card, ids, prices } = arrange("delivered");
  const before = structuredClone(order);
  const first = replacementFor(desk, order, 0, prices[0] + 0.1);
  const second = replacementFor(desk, order, 1, prices[1] + 0.2);
  const request = args(order, [ids[0], ids[1]], [first.item_id, second.item_id], card);
  expect(await desk.succeed("exchange_delivered_order_items", request)).toEqual({
    ...before,
    status: "exchange requested",
    exchange_items: [ids[0], ids[1]].toSorted(),
    exchange_new_items: [first.item_id, second.item_id].toSorted(),
    exchange_payment_method_id: card,
    exchange_price_difference: 0.3,
  });
  expect(balanceOf(desk, order, card)).toBe(1000);
});

test("exchange_delivered_order_items compares the gift card with the rounded difference", async () => {
  const { desk, order, card, ids, prices } = arrange("delivered", 0.3);
  const first = replacementFor(desk, order, 0, prices[0] + 0.1 + 0.2004);
  await desk.succeed("exchange_delivered_order_items", args(order, [ids[0]], [first.item_id], card));
});

test("modify_pending_order_items compares the gift card with the unrounded difference", async () => {
  const { desk, order, card, ids, prices } = arrange("pending", 0.3);
  const first = replacementFor(desk, order, 0, prices[0] + 0.1 + 0.2004);
  const request = args(order, [ids[0]], [first.item_id], card);
  expect(await desk.fail("modify_pending_order_items", request)).toBe(
    "insufficient gift card balance to pay for the new item",
  );
});
