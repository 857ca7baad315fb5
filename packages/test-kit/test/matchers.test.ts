import { expect, test } from "vitest";
import { accessMatchers, runQuery } from "../src/index.ts";
import { orderService } from "./order-service.ts";

expect.extend(accessMatchers);

const own = { role: "customer", input: { order: "1" }, context: { customerId: "ann" } };
const foreign = { ...own, context: { customerId: "bob" } };

test("toAllow passes if every rule allows the call, and runs no handler", async () => {
  const ran: string[] = [];
  const service = orderService(ran);

  await expect(service).toAllow("get_order", own);
  await expect(service).toAllow("opening_hours");
  await expect(service).toAllow("erase_orders", { role: "manager" });
  await expect(service).not.toAllow("get_order", foreign);
  expect(ran).toEqual([]);
});

test("toAllow names the rule that refused", async () => {
  const byRoles = expect(orderService()).toAllow("erase_orders", { role: "customer" });
  const byAuthorize = expect(orderService()).toAllow("get_order", foreign);

  await expect(byRoles).rejects.toThrow("erase_orders as customer to be allowed, but its roles are manager");
  await expect(byAuthorize).rejects.toThrow("to be allowed, but authorize said: Not permitted: not your order.");
});

test("toDeny passes if a rule refuses the call, and only for the named rule", async () => {
  await expect(orderService()).toDeny("erase_orders", { role: "customer", rule: "roles" });
  await expect(orderService()).toDeny("get_order", { ...foreign, rule: "authorize" });
  await expect(orderService()).toDeny("get_order");

  await expect(expect(orderService()).toDeny("get_order", own)).rejects.toThrow("but every rule allowed it");
  await expect(expect(orderService()).toDeny("get_order", { ...foreign, rule: "roles" })).rejects.toThrow(
    "to be denied by roles, but authorize said",
  );
});

test("toAllow and toDeny fail for a call that proves nothing", async () => {
  const service = orderService();

  await expect(async () => expect(service).toDeny("erase_order")).rejects.toThrow('no function "erase_order"');
  await expect(async () => expect(service).toDeny("get_order", { role: "manager" })).rejects.toThrow(/proves nothing/);
  await expect(async () => expect(service).not.toAllow("get_order", { role: "manager" })).rejects.toThrow(/order/);
  await expect(async () => expect({}).toAllow("get_order", own)).rejects.toThrow(/defineService/);
});

test("toLeakNothing finds a canary in the answer and in model requests", async () => {
  const done = await runQuery(orderService(), {
    query: "What is order 1?",
    role: "manager",
    model: [{ calls: [["get_order", { order: "1" }]] }, "It is a gift."],
  });

  expect(done).toLeakNothing("fragile");
  expect(() => expect(done).toLeakNothing(["fragile", "gift"])).toThrow(/"gift" in answer\.response/);
  expect(() => expect(done).toLeakNothing("gift")).toThrow(
    /"gift" in requests\[1\]\.messages\[2\]\.results\[0\]\.content/,
  );
});

test("toLeakNothing searches errors, maps, bytes, property names and JSON in texts", () => {
  const quoted = 'can"ary';

  for (const value of [
    new Error("outer", { cause: new Error("canary") }),
    new Map([["x", { y: "a canary b" }]]),
    new Set(["canary"]),
    Buffer.from("canary"),
    { canary: 1 },
  ])
    expect(() => expect(value).toLeakNothing("canary")).toThrow(/leaked/);
  expect(() => expect(JSON.stringify({ a: quoted })).toLeakNothing(quoted)).toThrow(/leaked/);
  expect(() => expect({ amount: 4711.5 }).toLeakNothing("4711")).toThrow(/leaked/);
});

test("toLeakNothing fails without a canary", () => {
  expect(() => expect("x").toLeakNothing([])).toThrow(/give at least one canary/);
});
