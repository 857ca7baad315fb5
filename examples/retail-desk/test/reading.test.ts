import { expect, test } from "vitest";
import { retailRecords, UNKNOWN_ORDER_ID, UNKNOWN_USER_ID } from "../../../test/support/retail.ts";
import { generateRetailData } from "../data/generate.ts";
import { openDesk } from "./desk-calls.ts";

const users = Object.entries(retailRecords.users);
const orders = Object.values(retailRecords.orders);
const products = Object.values(retailRecords.products);
const openFullDesk = () => openDesk(generateRetailData);
/** Names of properties that every JavaScript object inherits. */
const INHERITED = ["constructor", "__proto__", "toString", "hasOwnProperty"];

test("find_user_id_by_email finds every user, ignoring case", async () => {
  const desk = openFullDesk();
  for (const [id, { email }] of users) {
    expect(await desk.succeed("find_user_id_by_email", { email: email.toUpperCase() })).toBe(id);
  }
  expect(await desk.fail("find_user_id_by_email", { email: "unknown@example.com" })).toBe("user not found");
});

test("find_user_id_by_email returns the first user of the file when two have the same address", async () => {
  const desk = openFullDesk();
  const [[firstId, first], [, second]] = users as [(typeof users)[0], (typeof users)[0]];
  for (const user of desk.store.users.values()) if (user.email === second.email) user.email = first.email;
  expect(await desk.succeed("find_user_id_by_email", { email: first.email })).toBe(firstId);
});

test("find_user_id_by_name_zip ignores the case of both names and compares the zip exactly", async () => {
  const desk = openFullDesk();
  const [id, { name, address }] = users[3]!;
  const asked = { first_name: name.first_name.toUpperCase(), last_name: name.last_name.toLowerCase() };
  expect(await desk.succeed("find_user_id_by_name_zip", { ...asked, zip: address.zip })).toBe(id);
  for (const other of [
    { first_name: "Unknown" },
    { last_name: "Unknown" },
    { zip: "00000" },
    { zip: `${address.zip} ` },
  ]) {
    expect(await desk.fail("find_user_id_by_name_zip", { ...asked, zip: address.zip, ...other })).toBe(
      "user not found",
    );
  }
});

test("find_user_id_by_name_zip uses the current address", async () => {
  const desk = openFullDesk();
  const [id, { name, address }] = users[3]!;
  await desk.succeed("modify_user_address", { user_id: id, ...address, zip: "99999" });
  expect(await desk.succeed("find_user_id_by_name_zip", { ...name, zip: "99999" })).toBe(id);
});

test("get_user_details, get_order_details and get_product_details return whole records", async () => {
  const desk = openFullDesk();
  const [userId, user] = users[0]!;
  expect(await desk.succeed("get_user_details", { user_id: userId })).toEqual(user);
  for (const order of orders.slice(0, 20)) {
    expect(await desk.succeed("get_order_details", { order_id: order.order_id })).toEqual(order);
  }
  for (const product of products) {
    expect(await desk.succeed("get_product_details", { product_id: product.product_id })).toEqual(product);
  }
});

test.each([UNKNOWN_ORDER_ID, "", ...INHERITED])("an order id such as %j is unknown", async (order_id) => {
  expect(await openFullDesk().fail("get_order_details", { order_id })).toBe("order not found");
});

test("the # is part of an order id, and its case matters", async () => {
  const desk = openFullDesk();
  const { order_id } = orders[0]!;
  expect(await desk.fail("get_order_details", { order_id: order_id.slice(1) })).toBe("order not found");
  expect(await desk.fail("get_order_details", { order_id: order_id.toLowerCase() })).toBe("order not found");
});

test.each([UNKNOWN_USER_ID, "", ...INHERITED])("a user id such as %j is unknown", async (user_id) => {
  expect(await openFullDesk().fail("get_user_details", { user_id })).toBe("user not found");
});

test.each(["0000000000", "", ...INHERITED])("a product id such as %j is unknown", async (product_id) => {
  expect(await openFullDesk().fail("get_product_details", { product_id })).toBe("product not found");
});

test("the id of an item is not accepted as the id of a product", async () => {
  const itemId = Object.keys(products[0]!.variants)[0]!;
  expect(await openFullDesk().fail("get_product_details", { product_id: itemId })).toBe("product not found");
});

test("list_all_product_types returns the product id of each of the 50 names", async () => {
  expect(await openFullDesk().succeed("list_all_product_types", {})).toEqual(
    Object.fromEntries(products.map((product) => [product.name, product.product_id])),
  );
});

test("calculate, think and transfer_to_human_agents return their results", async () => {
  const desk = openFullDesk();
  expect(await desk.succeed("calculate", { expression: "(10 + 2.5) * 2" })).toBe(25);
  expect(await desk.fail("calculate", { expression: "ten" })).toBe("invalid characters in expression");
  expect(await desk.fail("calculate", { expression: "1 / 0" })).toBe("division by zero");
  expect(await desk.fail("calculate", { expression: "" })).toMatch(/^invalid syntax/);
  expect(await desk.succeed("think", { thought: "hm" })).toBe("");
  expect(await desk.succeed("transfer_to_human_agents", { summary: "wants a person" })).toBe("Transfer successful");
});
