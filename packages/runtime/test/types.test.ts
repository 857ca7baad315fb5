import type { JsonObject } from "@patchbay/kit";
import { type } from "arktype";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { z as zod3 } from "zod3";
import {
  defineFunction,
  defineService,
  functionsFor,
  type CallContext,
  type InputOf,
  type OutputOf,
  type Service,
} from "../src/index.ts";
import { callAs, runHookAs, runQuery, startTestServer } from "../../test-kit/src/index.ts";

const base = { name: "probe", description: "A function under test.", roles: "everyone" as const };
const id = z.object({ id: z.string() });

test("a handler receives the output type of its schema", () => {
  const handler = () => null;
  defineFunction({
    ...base,
    input: z.object({ id: z.string().transform(Number), limit: z.number().default(1), note: z.string().optional() }),
    authorize({ input, role, context }) {
      expectTypeOf(input).toEqualTypeOf<{ id: number; limit: number; note?: string | undefined }>();
      expectTypeOf(role).toEqualTypeOf<string | undefined>();
      expectTypeOf(context).toEqualTypeOf<JsonObject>();
      return true;
    },
    handler(input, context) {
      expectTypeOf(input).toEqualTypeOf<{ id: number; limit: number; note?: string | undefined }>();
      expectTypeOf(context).toEqualTypeOf<CallContext>();
      return null;
    },
  });
  defineFunction({ ...base, input: mini.object({ id: mini.string() }), handler: (input: { id: string }) => input.id });
  defineFunction({ ...base, input: zod3.object({ id: zod3.string() }), handler: (input: { id: string }) => input.id });
  defineFunction({ ...base, input: type({ id: "string" }), handler: (input: { id: string }) => input.id });
  defineFunction({
    ...base,
    input: { type: "object", properties: {} },
    handler: (input) => expectTypeOf(input).toEqualTypeOf<JsonObject>(),
  });
  // @ts-expect-error the handler reads a property that the schema does not have
  defineFunction({ ...base, input: id, handler: (input: { id: string; other: string }) => input });
  // @ts-expect-error roles are required
  void (() => defineFunction({ name: "probe", description: "x", input: id, handler }));
  // @ts-expect-error only "everyone" opens a function to everyone
  void (() => defineFunction({ ...base, roles: "anyone", input: id, handler }));
  // @ts-expect-error a decision is a boolean or a string
  defineFunction({ ...base, input: id, authorize: () => undefined, handler });
});

test("a handler must return the input type of its output schema", () => {
  const output = z.object({ total: z.string().transform(Number) });
  defineFunction({ ...base, input: id, output, handler: () => ({ total: "1", more: true }) });
  defineFunction({ ...base, input: id, output, handler: async () => ({ total: "1" }) });
  // @ts-expect-error the schema accepts a string
  defineFunction({ ...base, input: id, output, handler: () => ({ total: 1 }) });
  // @ts-expect-error nothing is returned
  defineFunction({ ...base, input: id, output, handler: async () => {} });
  defineFunction({ ...base, input: id, output: { type: "number" }, handler: () => 1 });
  defineFunction({ ...base, input: id, handler: () => new Date() });
});

test("functions of functionsFor() receive its context and need it", () => {
  const context = z.object({ customerId: z.string().optional() });
  const desk = functionsFor(context);
  const own = desk.defineFunction({
    ...base,
    input: id,
    authorize: ({ context, input }) => context.customerId === input.id,
    handler(_, call) {
      expectTypeOf(call.context).toEqualTypeOf<{ customerId?: string | undefined }>();
      return null;
    },
  });
  const plain = defineFunction({ ...base, name: "plain", input: id, handler: (_, { context }) => context["any"] });

  defineService({
    name: "desk",
    context,
    subject(context) {
      expectTypeOf(context).toEqualTypeOf<{ customerId?: string | undefined }>();
      return context.customerId;
    },
    modelContext: ({ customerId }) => customerId,
    functions: [own, plain],
  });
  defineService({
    name: "desk",
    subject(context) {
      expectTypeOf(context).toEqualTypeOf<JsonObject>();
      return undefined;
    },
    functions: [plain],
  });
  const strict = functionsFor(z.object({ customerId: z.string() })).defineFunction({
    ...base,
    input: id,
    handler: () => 1,
  });
  // @ts-expect-error the service does not have the context of the function
  void (() => defineService({ name: "desk", functions: [strict] }));
});

const roles = { guest: {}, support: {}, manager: { includes: ["support"] } };
type Role = keyof typeof roles;
const handler = () => null;

test("functions of functionsFor() with roles know no others", () => {
  const desk = functionsFor(undefined, roles);
  expectTypeOf(desk.includes).parameters.toEqualTypeOf<[role: Role | undefined, other: Role]>();
  desk.defineFunction({
    ...base,
    input: id,
    roles: ["support"],
    approval: { by: ["manager", "caller"], when: ({ role }) => role === "support" },
    cases: { own: { input: { id: "1" }, roles: ["guest"] } },
    authorize({ role, context }) {
      expectTypeOf(role).toEqualTypeOf<Role | undefined>();
      expectTypeOf(context).toEqualTypeOf<JsonObject>();
      return desk.includes(role, "support");
    },
    handler: (_, { role }) => void expectTypeOf(role).toEqualTypeOf<Role | undefined>(),
  });
  const { visibleTo, defineFunction: define } = functionsFor(undefined, ["driver", "admin"]);
  const field = visibleTo(z.string(), ["driver"]);
  expectTypeOf(field).toEqualTypeOf<z.ZodString>();
  // @ts-expect-error a role that the service does not have, in a rule
  define({ ...base, input: id, authorize: ({ role }) => role === "drivr", handler });
  // @ts-expect-error in a handler
  define({ ...base, input: id, handler: (_, { role }) => role === "drivr" });
  // @ts-expect-error in a role list
  define({ ...base, input: id, roles: ["drivr"], handler });
  // @ts-expect-error in an approval
  define({ ...base, input: id, approval: { by: ["drivr"] }, handler });
  // @ts-expect-error in a case
  define({ ...base, input: id, cases: { own: { input: { id: "" }, roles: ["drivr"] } }, handler });
  // @ts-expect-error in a mark
  visibleTo(z.string(), ["drivr"]);
  // @ts-expect-error in a rule by inclusion
  desk.includes("support", "manger");
});

test("a service with roles knows no others, nor do calls to it", () => {
  const service = defineService({
    name: "desk",
    roles,
    defaultRole: "guest",
    flows: { mode: "ask", by: ["manager", "caller"] },
    exampleQueries: ["Hi", { query: "Hi", role: "support" }],
    beforeCall: ({ role }) => void expectTypeOf(role).toEqualTypeOf<Role | undefined>(),
    functions: [],
  });
  expectTypeOf(service).toEqualTypeOf<Service<Role>>();
  expectTypeOf(service).toExtend<Service>();
  expectTypeOf(defineService({ name: "desk", roles: ["a", "b"], functions: [] })).toEqualTypeOf<Service<"a" | "b">>();
  expectTypeOf(defineService({ name: "desk", defaultRole: "a", functions: [] })).toEqualTypeOf<Service>();
  const call = { functionName: "none", context: {} };
  void (() => [
    callAs(service, { ...call, role: "manager" }),
    runHookAs(service, { query: "Hi", role: "manager" }),
    runQuery(service, { query: "Hi", role: "manager" }),
    startTestServer(service).then((server) => server.query({ query: "Hi", role: "manager" })),
    callAs(service as Service, { ...call, role: "anything" }),
    // @ts-expect-error not a role of the service
    callAs(service, { ...call, role: "manger" }),
    // @ts-expect-error not a role of the service
    runHookAs(service, { query: "Hi", role: "manger" }),
    // @ts-expect-error not a role of the service
    runQuery(service, { query: "Hi", role: "manger" }),
    // @ts-expect-error not a role of the service
    startTestServer(service).then((server) => server.query({ query: "Hi", role: "manger" })),
  ]);
  // @ts-expect-error not a role of the service
  void (() => defineService({ name: "desk", roles, defaultRole: "gest", functions: [] }));
  // @ts-expect-error not a role of the service
  defineService({ name: "desk", roles, beforeQuery: ({ role }) => void (role === "gest"), functions: [] });
});

test("InputOf and OutputOf are the types of a schema", () => {
  const schema = z.object({ n: z.string().transform(Number) });

  expectTypeOf<InputOf<typeof schema>>().toEqualTypeOf<{ n: string }>();
  expectTypeOf<OutputOf<typeof schema>>().toEqualTypeOf<{ n: number }>();
  expectTypeOf<OutputOf<{ type: "object" }>>().toEqualTypeOf<JsonObject>();
});
