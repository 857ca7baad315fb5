import { z } from "zod";
import { expect, test } from "vitest";
import { defineFunction, defineService } from "@patchbay/runtime";
import { callAs } from "../src/index.ts";
import { orderService } from "./order-service.ts";

test("a permitted call returns the value of its handler", async () => {
  const outcome = await callAs(orderService(), { functionName: "get_order", input: { order: "1" }, role: "manager" });

  expect(outcome).toEqual({ ok: true, value: { owner: "ann", note: "gift" } });
});

test("the context decides a call as in a query", async () => {
  const call = { functionName: "get_order", input: { order: "1" }, role: "customer" };

  expect(await callAs(orderService(), { ...call, context: { customerId: "ann" } })).toMatchObject({ ok: true });
  expect(await callAs(orderService(), { ...call, context: { customerId: "bob" } })).toMatchObject({
    ok: false,
    code: "denied",
    rule: "authorize",
    message: "Not permitted: not your order.",
  });
});

test("a call without a role runs only handlers that are open to everyone", async () => {
  const ran: string[] = [];

  expect(await callAs(orderService(ran), { functionName: "erase_orders" })).toMatchObject({ ok: false, rule: "roles" });
  expect(ran).toEqual([]);
});

test("a call without a role has the service's default role", async () => {
  const service = defineService({
    name: "guests",
    defaultRole: "guest",
    functions: [
      defineFunction({
        name: "who",
        description: "Returns the role of the caller.",
        input: z.object({}),
        roles: ["guest"],
        handler: (_, { role }) => role,
      }),
    ],
  });

  expect(await callAs(service, { functionName: "who" })).toEqual({ ok: true, value: "guest" });
  expect(await callAs(service, { functionName: "who", role: "" })).toEqual({ ok: true, value: "guest" });
  expect(await callAs(service, { functionName: "who", role: "other" })).toMatchObject({ ok: false, rule: "roles" });
});
