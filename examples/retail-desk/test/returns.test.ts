import { expect, test } from "vitest";
import type { Order } from "../data/shape.ts";
import { addMethod, anOrder, openDesk } from "./desk-calls.ts";

function arrange() {
  const desk = openDesk();
  const order = anOrder(
    desk,
    ({ status, items, payment_history: [first] }) =>
      status === "delivered" && items.length >= 2 && !first?.payment_method_id.startsWith("gift_card"),
  );
  const original = order.payment_history[0]!.payment_method_id;
  const card = addMethod(desk, order, { source: "gift_card", id: "gift_card_0000001", balance: 3 });
  const other = addMethod(desk, order, { source: "paypal", id: "paypal_0000001" });
  return { desk, order, original, card, other, ids: order.items.map((item) => item.item_id) as [string, string] };
}

function args({ order_id }: Order, item_ids: string[], payment_method_id: string) {
  return { order_id, item_ids, payment_method_id };
}

test("return_delivered_order_items records the request, to the original method or a gift card, and changes no balance", async () => {
  for (const choose of ["original", "card"] as const) {
    const { desk, order, ids, [choose]: method } = arrange();
    const before = structuredClone(order);
    const owner = JSON.stringify(desk.store.users.get(order.user_id));
    const request = args(order, ids.slice(0, 2).toSorted().toReversed(), method);
    expect(await desk.succeed("return_delivered_order_items", request)).toEqual({
      ...before,
      status: "return requested",
      return_items: ids.slice(0, 2).toSorted(),
      return_payment_method_id: method,
    });
    expect(JSON.stringify(desk.store.users.get(order.user_id))).toBe(owner);
  }
});

test("return_delivered_order_items accepts an empty list", async () => {
  const { desk, order, original } = arrange();
  expect(await desk.succeed("return_delivered_order_items", args(order, [], original))).toMatchObject({
    status: "return requested",
    return_items: [],
  });
});

test("return_delivered_order_items checks in the order of its error texts", async () => {
  const { desk, order, original, other, ids } = arrange();
  const fail = (item_ids: string[], method: string, asked = order) =>
    desk.fail("return_delivered_order_items", args(asked, item_ids, method));

  expect(await fail(["no"], "none", { ...order, order_id: "#W0" })).toBe("order not found");
  order.status = "return requested";
  expect(await fail(["no"], "none")).toBe("non-delivered order cannot be returned");
  order.status = "delivered";
  for (const unknown of ["none", "gift_card_none", "constructor"]) {
    expect(await fail(["no"], unknown)).toBe("payment method not found");
  }
  expect(await fail(["no"], other)).toBe("payment method should be either the original payment method or a gift card");
  expect(await fail(["no"], original)).toBe("some item not found");
  const once = ids.filter((id) => id === ids[0]).length;
  expect(
    await fail(
      Array.from({ length: once + 1 }, () => ids[0]),
      original,
    ),
  ).toBe("some item not found");
});
