import { z } from "zod";
import { expect, test } from "vitest";
import { defineFunction, defineService } from "../../src/index.ts";
import { callAs } from "../../src/testing/index.ts";
import { deskService } from "./desk-service.ts";

test("a call as a role that may make it gives what the handler returned", async () => {
  const outcome = await callAs(deskService(), { functionName: "get_order", input: { order: "1" }, role: "manager" });

  expect(outcome).toEqual({ ok: true, value: { owner: "ann", note: "gift" } });
});

test("a call is decided by the context as a query's would be", async () => {
  const call = { functionName: "get_order", input: { order: "1" }, role: "customer" };

  expect(await callAs(deskService(), { ...call, context: { customerId: "ann" } })).toMatchObject({ ok: true });
  expect(await callAs(deskService(), { ...call, context: { customerId: "bob" } })).toMatchObject({
    ok: false,
    code: "denied",
    rule: "authorize",
    message: "Not permitted: not your order.",
  });
});

test("a call without a role runs no handler that is not open to everyone", async () => {
  const ran: string[] = [];

  expect(await callAs(deskService(ran), { functionName: "erase_orders" })).toMatchObject({ ok: false, rule: "roles" });
  expect(ran).toEqual([]);
});

test("a call without a role has the service's default role, as a query has", async () => {
  const service = defineService({
    name: "guests",
    defaultRole: "guest",
    functions: [
      defineFunction({
        name: "who",
        description: "Says who calls.",
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
