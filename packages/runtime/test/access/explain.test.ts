import { expect, test } from "vitest";
import { explainAccess, type AccessQuestion } from "../../src/access/index.ts";
import { orderService, ran, type ServiceChanges } from "./order-service.ts";

const explain = (question: AccessQuestion, changes: ServiceChanges = {}) =>
  explainAccess(orderService(changes), question);
const details = { functionName: "get_order_details", role: "customer" };
const context = { customerId: "ada" };

test("an unknown function", async () => {
  expect(await explain({ functionName: "get_order", role: "agent" })).toMatchObject({
    decision: "denied",
    rule: "unknown",
    sentence: "The function set has no function get_order.",
  });
});

test("a role outside the role list", async () => {
  expect(await explain({ functionName: "cancel_order", role: "customer", input: { orderId: "W1" } })).toMatchObject({
    decision: "denied",
    rule: "roles",
    sentence:
      "The role list of cancel_order (agent) does not include role customer: the model does not see the function, and calls are denied.",
  });
  expect(await explain({ functionName: "cancel_order" })).toMatchObject({ role: null, rule: "roles" });
});

test("invalid arguments", async () => {
  expect(await explain({ ...details, context, input: {} })).toMatchObject({
    decision: "denied",
    rule: "input",
    sentence: expect.stringContaining("but the arguments were refused: Invalid arguments: orderId") as string,
  });
});

test("an authorize that allows, refuses or throws an exception", async () => {
  expect(await explain({ ...details, context, input: { orderId: "W1" } })).toEqual({
    functionName: "get_order_details",
    role: "customer",
    decision: "allowed",
    rule: "allowed",
    sentence:
      "The role list of get_order_details (customer, agent) allows role customer, the arguments are valid, and authorize allows the call.",
    hides: ["note"],
  });
  expect(await explain({ ...details, context, input: { orderId: "W2" } })).toMatchObject({
    decision: "denied",
    rule: "authorize",
    hides: [],
  });
  expect(await explain({ ...details, context, input: { orderId: "W0" } })).toMatchObject({
    decision: "denied",
    sentence: expect.stringContaining("authorize threw Error: the database is away, which denies the call.") as string,
  });
});

test("without arguments, the role list decides", async () => {
  expect(await explain(details)).toMatchObject({ decision: "depends", rule: "authorize", hides: ["note"] });
  expect(await explain({ functionName: "cancel_order", role: "agent" })).toMatchObject({ decision: "allowed" });
  expect(await explain({ functionName: "list_products" })).toMatchObject({ decision: "allowed", role: null });
});

test("a question without a role has the service's default role", async () => {
  expect(await explain({ functionName: "get_order_details" }, { defaultRole: "agent" })).toMatchObject({
    role: "agent",
    decision: "depends",
  });
});

test("explaining runs no handler", async () => {
  ran.length = 0;
  await explain({ ...details, context, input: { orderId: "W1" } });

  expect(ran).toEqual([]);
});
