import { expect, test } from "vitest";
import { findForbidden, lockOf, parseNever, type NeverList } from "../../src/access/index.ts";
import { orderService, type ServiceChanges } from "./order-service.ts";

const found = async (never: NeverList, changes: ServiceChanges = {}) =>
  findForbidden(never, await lockOf(orderService(changes)));

test("a role that may call a forbidden function is found", async () => {
  const never = { cancel_order: ["none", "customer"] };

  expect(await found(never)).toEqual([]);
  expect(await found(never, { cancelRoles: ["agent", "customer"] })).toEqual(["customer may call cancel_order"]);
});

test("a query without a role counts with the default role", async () => {
  expect(await found({ cancel_order: ["none"] }, { defaultRole: "agent" })).toEqual([
    "a query without a role may call cancel_order, as the default role agent",
  ]);
  expect(await found({ list_products: ["none"] })).toEqual(["a query without a role may call list_products"]);
});

test("an effect stands for all functions that have it", async () => {
  expect(await found({ "*destructive": ["none", "customer"] })).toEqual([]);
  expect((await found({ "*": ["agent"] })).length).toBeGreaterThan(2);
});

test("a name that the service does not have is found, because it would forbid nothing", async () => {
  expect(await found({ cancel_ordr: ["none"], cancel_order: ["custmer"] })).toEqual([
    "the service has no function cancel_ordr",
    "cancel_order: the service has no role custmer",
  ]);
});

test.each([
  ["[]", /must be an object/],
  ['{"f":[]}', /f must have a list of roles/],
  ['{"f":"none"}', /f must have a list of roles/],
  ['{"*delete":["none"]}', /\*delete is not one of \*, \*read, \*write, \*destructive/],
  ["{", /JSON/],
])("the text %s is not a never-list, for a reason", (text, reason) => {
  expect(() => parseNever(text)).toThrow(reason);
});
