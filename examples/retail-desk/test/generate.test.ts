import { expect, test } from "vitest";
import { generateRetailData } from "../data/generate.ts";
import { RetailData } from "../data/shape.ts";
import { roundMoney } from "../money.ts";

const data = generateRetailData();
const orders = Object.values(data.orders);

test("the same seed gives the same records, another seed gives others", () => {
  expect(generateRetailData()).toEqual(data);
  expect(Object.keys(generateRetailData(7).orders)).not.toEqual(Object.keys(data.orders));
});

test("500 users, 1,000 orders and 50 products have the shape of the files", () => {
  expect(RetailData.parse(data)).toEqual(data);
  const sizes = [data.users, data.orders, data.products].map((records) => Object.keys(records).length);
  expect(sizes).toEqual([500, 1000, 50]);
  expect(new Set(Object.values(data.products).map((product) => product.name)).size).toBe(50);
});

test("users and orders refer to each other", () => {
  for (const order of orders) expect(data.users[order.user_id]?.orders).toContain(order.order_id);
  expect(Object.values(data.users).flatMap((user) => user.orders)).toHaveLength(1000);
});

test("every order has existing variants and was paid in full with a method of its owner", () => {
  for (const { items, payment_history, user_id } of orders) {
    const prices = items.map((item) => data.products[item.product_id]?.variants[item.item_id]?.price);
    expect(items.map((item) => item.price)).toEqual(prices);
    expect(payment_history[0]?.amount).toBe(roundMoney(items.reduce((sum, item) => sum + item.price, 0)));
    expect(Object.keys(data.users[user_id]?.payment_methods ?? {})).toContain(payment_history[0]?.payment_method_id);
  }
});

test("every status occurs, and some first payments are above the limit of 5000", () => {
  const statuses = Map.groupBy(orders, (order) => order.status);
  expect(Object.fromEntries(statuses.entries().map(([status, all]) => [status, all.length]))).toEqual({
    pending: 423,
    delivered: 373,
    processed: 102,
    cancelled: 102,
  });
  const costly = orders.filter((order) => (order.payment_history[0]?.amount ?? 0) > 5000);
  expect(new Set(costly.map((order) => order.status))).toContain("pending");
  expect(new Set(costly.map((order) => order.status))).toContain("delivered");
});
