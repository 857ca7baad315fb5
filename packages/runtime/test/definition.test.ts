import { LIMITS, Manifest } from "@patchbay/protocol";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { defineFunction, defineService, DefinitionError, everyone, functionsFor, isService } from "../src/index.ts";

const base = {
  name: "refund_order",
  description: "Refunds an order.",
  input: z.object({ orderId: z.string() }),
  roles: ["support"],
  handler: () => null,
};

describe("a function", () => {
  test("is described with its defaults", () => {
    expect(defineFunction(base).manifest).toEqual({
      name: "refund_order",
      description: "Refunds an order.",
      inputSchema: { type: "object", properties: { orderId: { type: "string" } }, required: ["orderId"] },
      roles: ["support"],
      conditional: false,
      effect: "write",
      idempotent: false,
      timeoutMs: 60_000,
    });
  });

  test("is described with its options", () => {
    const options = { effect: "read", idempotent: true, timeoutMs: 5_000, roles: everyone } as const;

    expect(defineFunction({ ...base, ...options, authorize: () => true }).manifest).toMatchObject({
      ...options,
      conditional: true,
    });
  });

  test("keeps the roles it was defined with", () => {
    const roles = ["support", "support"];
    const definition = defineFunction({ ...base, roles });
    roles.push("customer");

    expect(definition.manifest.roles).toEqual(["support"]);
  });

  const mistakes: [string, object, RegExp][] = [
    ["a name with a space", { name: "refund order" }, /cannot be named "refund order"/],
    ["an empty name", { name: "" }, /cannot be named ""/],
    ["a name of 65 characters", { name: "x".repeat(65) }, /1 to 64/],
    ["no description", { description: "" }, /description is missing/],
    ["no roles", { roles: undefined }, /roles is missing.*roles: "everyone"/],
    ["no role in the list", { roles: [] }, /roles is empty, so no role may call it/],
    ["a role that is a number", { roles: ["support", 7] }, /a role must be a string of 1–200 characters, got 7/],
    ["an empty role", { roles: [""] }, /a role must be a string/],
    ["everyone inside a list", { roles: ["everyone"] }, /is a role of that name/],
    ["another word for everyone", { roles: "all" }, /roles is missing/],
    ["no input", { input: undefined }, /input must be a schema/],
    ["an output that is a string", { output: "string" }, /output must be a schema/],
    [
      "a raw output with an invalid type",
      { output: { type: "text" } },
      /output: invalid JSON Schema \(draft 2020-12\): at the root: "type" must/,
    ],
    ["no handler", { handler: undefined }, /handler must be a function/],
    ["an authorize that is a boolean", { authorize: true }, /authorize must be a function/],
    ["a timeout above the limit", { timeoutMs: 86_400_001 }, /from 1 to 86400000, got 86400001/],
    ["a timeout of half a millisecond", { timeoutMs: 0.5 }, /an integer/],
    ["an unknown effect", { effect: "delete" }, /one of "read", "write", "destructive"/],
    ["an idempotent that is a string", { idempotent: "yes" }, /idempotent must be true or false/],
    ["a misspelt option", { authorise: () => false }, /unknown option authorise/],
  ];

  test.each(mistakes)("%s is a mistake", (_, change, message) => {
    const define = () => defineFunction({ ...base, ...change });

    expect(define).toThrow(DefinitionError);
    expect(define).toThrow(message);
  });
});

describe("a service", () => {
  const refund = defineFunction(base);

  test("is described for the control plane", () => {
    const service = defineService({
      name: "desk",
      roles: ["support", "admin"],
      defaultRole: "support",
      instructions: "Be brief.",
      functions: [refund],
    });

    expect(service.manifest).toEqual({
      name: "desk",
      roles: ["support", "admin"],
      defaultRole: "support",
      instructions: "Be brief.",
      preparesContext: false,
      checksContext: false,
      namesSubject: false,
      functions: [refund.manifest],
    });
  });

  test("describes its example queries with their role and context", () => {
    const { manifest } = defineService({
      name: "desk",
      functions: [refund],
      exampleQueries: [
        " What can you do? ",
        { query: "Refund order 1", role: "support", context: { customerId: "c-1" } },
      ],
    });

    expect(manifest.exampleQueries).toEqual([
      { query: "What can you do?" },
      { query: "Refund order 1", role: "support", context: { customerId: "c-1" } },
    ]);
    expect(Manifest.parse(manifest)).toEqual(manifest);
  });

  test("without example queries has no such member in its manifest", () => {
    expect(defineService({ name: "desk", functions: [refund], exampleQueries: [] }).manifest).not.toHaveProperty(
      "exampleQueries",
    );
  });

  test("is recognised by isService", () => {
    expect(isService(defineService({ name: "desk", functions: [] }))).toBe(true);
    expect([undefined, null, {}, { manifest: {} }, () => {}].some(isService)).toBe(false);
  });

  const other = functionsFor(z.object({ id: z.string() })).defineFunction(base);
  const large = Array.from({ length: 20 }, (_, i) =>
    defineFunction({ ...base, name: `large_${i}`, description: "x".repeat(60_000) }),
  );
  const mistakes: [string, object, RegExp][] = [
    [
      "two functions of one name",
      { functions: [refund, defineFunction(base)] },
      /two functions are named "refund_order"/,
    ],
    [
      "a function's role that it does not have",
      { roles: ["suport"] },
      /"refund_order" names the role "support", which is not among suport/,
    ],
    [
      "a default role that it does not have",
      { roles: ["support"], defaultRole: "guest" },
      /defaultRole names the role "guest"/,
    ],
    ["the role titles", { roles: ["support", "titles"] }, /"titles" cannot be a role, because OpenAI clients/],
    ["the default role titles", { defaultRole: "titles" }, /"titles" cannot be a role/],
    [
      "a function for the role titles",
      { functions: [defineFunction({ ...base, roles: ["titles"] })] },
      /"titles" cannot be a role/,
    ],
    ["an empty default role", { defaultRole: "" }, /defaultRole|a role must be a string/],
    ["roles open to everyone", { roles: "everyone" }, /must be a list of all roles/],
    [
      "undefined in place of a function",
      { functions: [refund, undefined] },
      /functions\[1\] was not returned by defineFunction/,
    ],
    ["a function made for another context", { functions: [other] }, /was defined for another context/],
    ["no name", { name: "" }, /needs a name/],
    ["a name of 201 characters", { name: "x".repeat(201) }, /201 characters exceeds the limit of 200. Shorten it/],
    ["functions that are an object", { functions: { refund } }, /functions must be a list/],
    ["a misspelt option", { function: [] }, /unknown option function/],
    ["a subject that is a string", { subject: "customerId" }, /subject must be a function/],
    [
      "too many functions",
      { functions: Array(LIMITS.functionsPerService + 1).fill(refund) },
      /201 functions exceed the limit of 200/,
    ],
    ["example queries that are a text", { exampleQueries: "Refund" }, /exampleQueries must be a list/],
    [
      "too many example queries",
      { exampleQueries: Array(LIMITS.exampleQueriesPerService + 1).fill("Refund") },
      /21 exampleQueries exceed the limit of 20/,
    ],
    [
      "an example query of 501 characters",
      { exampleQueries: ["x".repeat(LIMITS.exampleQueryUnits + 1)] },
      /exampleQueries\[0\]: the query must be a string of 1 to 500 characters, got 501/,
    ],
    ["an empty example query", { exampleQueries: ["Refund", " "] }, /exampleQueries\[1\]: the query must .* got " "/],
    ["a number as example query", { exampleQueries: [7] }, /exampleQueries\[0\]: an example must be a text/],
    [
      "a misspelt property of an example query",
      { exampleQueries: [{ query: "Refund", rol: "support" }] },
      /exampleQueries\[0\]: unknown option rol/,
    ],
    [
      "an example query with an unknown role",
      { exampleQueries: [{ query: "Refund", role: "suport" }] },
      /exampleQueries\[0\] names the role "suport", which is not among support/,
    ],
    [
      "an example query whose context is a text",
      { exampleQueries: [{ query: "Refund", context: "c-1" }] },
      /exampleQueries\[0\]: context must be an object/,
    ],
    [
      "an example query whose context is not JSON",
      { exampleQueries: [{ query: "Refund", context: { tenant: 10n } }] },
      /exampleQueries\[0\]: context is not JSON: tenant is a bigint/,
    ],
    [
      "an example query whose context the schema refuses",
      { context: z.object({ customerId: z.string() }), exampleQueries: [{ query: "Refund", context: {} }] },
      /exampleQueries\[0\]: the service does not accept its context: .*customerId/,
    ],
    ["more description than a frame carries", { functions: large }, /Shorten schemas and descriptions/],
  ];

  test.each(mistakes)("%s is a mistake", (_, change, message) => {
    const define = () => defineService({ name: "desk", functions: [refund], ...change });

    expect(define).toThrow(DefinitionError);
    expect(define).toThrow(message);
  });
});

test("a service warns of functions that models would know by one name", () => {
  const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const define = (...names: string[]) =>
    defineService({ name: "desk", functions: names.map((name) => defineFunction({ ...base, name })) });

  define("orders.find", "orders_find2", "ordersfind");
  expect(written).not.toHaveBeenCalled();
  define("orders.find", "other", "orders_find");

  expect(written).toHaveBeenCalledOnce();
  expect(JSON.parse(String(written.mock.calls[0]![0]))).toMatchObject({
    level: "warn",
    message: "functions have the same name for models and MCP clients; rename all but one of them",
    service: "desk",
    functions: "orders.find, orders_find",
    name: "orders_find",
  });
});

test("an approval by others is refused for a function that needs its caller's token", () => {
  const options = {
    name: "act",
    description: "Acts.",
    input: z.object({}),
    needsCallerToken: true,
    handler: () => null,
  };
  const serviceOf = (by: string[]) =>
    defineService({
      name: "desk",
      functions: [defineFunction({ ...options, roles: ["clerk", "manager"], approval: { by } })],
    });

  expect(serviceOf(["caller"]).manifest.functions[0]).toMatchObject({ needsCallerToken: true });
  expect(() => serviceOf(["caller", "manager"])).toThrow(
    /approval\.by has other roles than "caller", but the function needs/,
  );
  expect(() => defineFunction({ ...options, roles: ["clerk"], needsCallerToken: "yes" as never })).toThrow(
    "needsCallerToken must be true or false",
  );
  const writes = defineFunction({
    ...options,
    roles: ["clerk"],
    input: z.object({ to: z.string() }),
    targets: { to: "caller" } as never,
  });
  expect(() =>
    defineService({
      name: "desk",
      roles: ["clerk", "manager"],
      flows: { mode: "ask", by: ["manager"] },
      functions: [writes],
    }),
  ).toThrow(/flows\.by has other roles than "caller"/);
});
