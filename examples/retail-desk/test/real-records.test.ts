import { describe, expect, test } from "vitest";
import { retailDataFolder } from "../config.ts";
import { loadRetailData } from "../data/load.ts";
import type { Order, RetailData } from "../data/shape.ts";
import { roundMoney } from "../money.ts";
import { balanceOf, openDesk, snapshot, type Desk } from "./desk-calls.ts";

const folder = retailDataFolder();

if (folder === undefined) {
  const why = "RETAIL_DATA is not set: the tests on the records of other files are skipped";
  console.warn(why);
  test.skip(why);
} else {
  const data = loadRetailData(folder);
  describe("the desk with the records in RETAIL_DATA", () => {
    testReading(data);
    testChanges(data);
  });
}

function testReading(data: RetailData): void {
  const users = Object.entries(data.users);
  const orders = Object.values(data.orders);
  const open = () => openDesk(() => structuredClone(data));

  test("every user is found by e-mail, and by name and zip, as the first in the order of the file", async () => {
    const desk = open();
    for (const [id, { email, name, address }] of users) {
      expect(await desk.succeed("find_user_id_by_email", { email: email.toUpperCase() })).toBe(id);
      const namesake = users.find(
        ([, other]) =>
          other.name.first_name === name.first_name &&
          other.name.last_name === name.last_name &&
          other.address.zip === address.zip,
      );
      const asked = { ...name, first_name: name.first_name.toLowerCase(), zip: address.zip };
      expect(await desk.succeed("find_user_id_by_name_zip", asked)).toBe(namesake?.[0]);
    }
  });

  test("every record is returned as in its file", async () => {
    const desk = open();
    for (const [user_id, user] of users) expect(await desk.succeed("get_user_details", { user_id })).toEqual(user);
    for (const [order_id, order] of Object.entries(data.orders)) {
      expect(await desk.succeed("get_order_details", { order_id })).toEqual(order);
    }
    for (const [product_id, product] of Object.entries(data.products)) {
      expect(await desk.succeed("get_product_details", { product_id })).toEqual(product);
    }
  });

  test("a customer reads only the own orders", async () => {
    const desk = open();
    for (const [i, { order_id, user_id }] of orders.entries()) {
      const owner = { role: "customer", context: { customerId: user_id } };
      expect(await desk.call("get_order_details", { order_id }, owner)).toMatchObject({ ok: true });
      const foreign = orders.find((other, j) => j > i && other.user_id !== user_id) ?? orders[0]!;
      expect(await desk.call("get_order_details", { order_id: foreign.order_id }, owner)).toMatchObject({
        ok: foreign.user_id === user_id,
      });
    }
  });
}

function testChanges(data: RetailData): void {
  const users = Object.entries(data.users);
  const orders = Object.values(data.orders);
  const open = () => openDesk(() => structuredClone(data));

  test("every pending order can be cancelled and no other one, and gift cards are refunded", async () => {
    const desk = open();
    const before = balances(desk);
    let returned = 0;
    for (const { order_id, status, payment_history } of orders) {
      const request = { order_id, reason: "no longer needed" };
      const outcome = await desk.call("cancel_pending_order", request);
      if (status !== "pending") {
        expect(outcome).toMatchObject({ ok: false, message: "non-pending order cannot be cancelled" });
        continue;
      }
      expect(outcome).toMatchObject({ ok: true, value: { status: "cancelled", cancel_reason: "no longer needed" } });
      for (const { amount, payment_method_id } of payment_history) {
        if (payment_method_id.includes("gift_card")) returned += amount;
      }
    }
    expect(balances(desk) - before).toBeCloseTo(returned, 2);
  });

  test("every delivered order can be returned as a whole to the method that paid, and no balance changes", async () => {
    const desk = open();
    const before = balances(desk);
    for (const order of orders.filter(({ status }) => status === "delivered")) {
      const item_ids = order.items.map((item) => item.item_id);
      const payment_method_id = order.payment_history[0]!.payment_method_id;
      const request = { order_id: order.order_id, item_ids, payment_method_id };
      expect(await desk.succeed("return_delivered_order_items", request)).toEqual({
        ...order,
        status: "return requested",
        return_items: item_ids.toSorted(),
        return_payment_method_id: payment_method_id,
      });
    }
    expect(balances(desk)).toBe(before);
  });

  test("items of every open order can be exchanged for available variants, and each exchange balances", async () => {
    const desk = open();
    for (const order of orders) {
      const pair = firstPair(data, order);
      if (!pair) continue;
      const { request, difference } = pair;
      const isExchange = order.status === "delivered";
      const due = isExchange ? roundMoney(difference) : difference;
      const before = balanceOf(desk, order, request.payment_method_id);
      const outcome = await desk.call(
        isExchange ? "exchange_delivered_order_items" : "modify_pending_order_items",
        request,
      );
      const after = balanceOf(desk, order, request.payment_method_id);
      if (!outcome.ok) {
        expect(outcome.message).toMatch(/^insufficient gift card balance to pay for the (new item|price difference)$/);
        expect(before).toBeLessThan(due);
        expect(after).toBe(before);
        continue;
      }
      const value = outcome.value as unknown as Order;
      if (isExchange) expect(value.exchange_price_difference).toBe(due);
      else expect(value.payment_history.at(-1)?.amount).toBe(Math.abs(due));
      if (before !== undefined) expect(after).toBe(isExchange ? before : roundMoney(before - due));
    }
  });

  test("reset_store restores the records of the files", async () => {
    const desk = open();
    const fresh = snapshot(desk.store);
    for (const { order_id } of orders) {
      await desk.call("cancel_pending_order", { order_id, reason: "ordered by mistake" });
    }
    expect(snapshot(desk.store)).not.toBe(fresh);
    expect(await desk.succeed("reset_store", {})).toEqual({
      users: users.length,
      orders: orders.length,
      products: Object.keys(data.products).length,
    });
    expect(snapshot(desk.store)).toBe(fresh);
  });
}

/** The sum of all gift card balances. */
function balances(desk: Desk): number {
  const methods = desk.store.users.values().flatMap((user) => Object.values(user.payment_methods));
  return methods.reduce((sum, method) => sum + (method.source === "gift_card" ? method.balance : 0), 0);
}

/** The first item of a pending or delivered order with another available variant, paid by the order's own method. */
function firstPair(data: RetailData, { order_id, status, items, payment_history }: Order) {
  if (status !== "pending" && status !== "delivered") return undefined;
  for (const item of items) {
    const variants = Object.values(data.products[item.product_id]?.variants ?? {});
    const other = variants.find(({ item_id, available }) => available && item_id !== item.item_id);
    if (!other) continue;
    const payment_method_id = payment_history[0]!.payment_method_id;
    const request = { order_id, item_ids: [item.item_id], new_item_ids: [other.item_id], payment_method_id };
    return { request, difference: other.price - item.price };
  }
  return undefined;
}
