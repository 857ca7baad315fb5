import { z } from "zod";
import { expect, test } from "vitest";
import { defineFunction, defineService } from "@patchbay/runtime";
import { accessMatrix, explainAccess } from "@patchbay/runtime/access";
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

test("callAs, the cases of a function and explainAccess state a proven caller", async () => {
  const caller = { subject: "ada", issuer: "https://id.example", claims: { department: "sales" } };
  const report = defineFunction({
    name: "report",
    description: "Returns the report of a department.",
    input: z.object({}),
    roles: ["manager"],
    authorize: (access) => access.caller?.claims["department"] === "sales",
    cases: { sales: { input: {}, caller }, "no token": { input: {} } },
    handler: (_input, context) => context.caller?.subject ?? null,
  });
  const service = defineService({ name: "reports", functions: [report] });
  const call = { functionName: "report", role: "manager", input: {} };

  expect(await callAs(service, { ...call, caller })).toEqual({ ok: true, value: "ada" });
  expect(await callAs(service, call)).toMatchObject({ code: "denied", rule: "authorize" });
  expect(await explainAccess(service, { ...call, caller })).toMatchObject({ decision: "allowed" });
  expect((await accessMatrix(service)).functions[0]!.cells["manager"]).toMatchObject({
    cases: { sales: { decision: "allowed" }, "no token": { decision: "denied" } },
  });
});
