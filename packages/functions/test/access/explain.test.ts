import { expect, test } from "vitest";
import { explainAccess, type AccessQuestion } from "../../src/access/index.ts";
import { deskService, ran, type DeskChanges } from "./desk.ts";

const explain = (question: AccessQuestion, changes: DeskChanges = {}) => explainAccess(deskService(changes), question);
const details = { functionName: "get_order_details", role: "customer" };
const context = { customerId: "ada" };

test("a function that is not there", async () => {
  expect(await explain({ functionName: "get_order", role: "agent" })).toMatchObject({
    decision: "denied",
    rule: "unknown",
    sentence: "The service has no function get_order.",
  });
});

test("a role that is not in the list", async () => {
  expect(await explain({ functionName: "cancel_order", role: "customer", input: { orderId: "W1" } })).toMatchObject({
    decision: "denied",
    rule: "roles",
    sentence:
      "The role list of cancel_order is agent: to role customer the function is hidden, so it is neither shown to the model nor run.",
  });
  expect(await explain({ functionName: "cancel_order" })).toMatchObject({ role: null, rule: "roles" });
});

test("arguments that do not fit", async () => {
  expect(await explain({ ...details, context, input: {} })).toMatchObject({
    decision: "denied",
    rule: "input",
    sentence: expect.stringContaining("but the arguments do not fit: Invalid arguments: orderId") as string,
  });
});

test("an authorize that allows, refuses or throws", async () => {
  expect(await explain({ ...details, context, input: { orderId: "W1" } })).toEqual({
    functionName: "get_order_details",
    role: "customer",
    decision: "allowed",
    rule: "allowed",
    sentence:
      "The role list of get_order_details (customer, agent) lets role customer call it, the arguments fit, and authorize allowed this call.",
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

test("without arguments it says what the role list alone decides", async () => {
  expect(await explain(details)).toMatchObject({ decision: "depends", rule: "authorize", hides: ["note"] });
  expect(await explain({ functionName: "cancel_order", role: "agent" })).toMatchObject({ decision: "allowed" });
  expect(await explain({ functionName: "list_products" })).toMatchObject({ decision: "allowed", role: null });
});

test("a question without a role is about the service's default role, as a query is", async () => {
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
