import { jsonSchema, tool, zodSchema } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineFunction, defineService, fromTool, type FromToolOptions } from "@patchbay/functions";
import { callAs } from "@patchbay/functions/testing";

const RAW = {
  type: "object" as const,
  properties: { id: { type: "string" as const, minLength: 2 } },
  required: ["id"],
};
const zod = z.object({ id: z.string().min(2).default("A-0") });
const options = { name: "refund", roles: ["clerk"] } satisfies FromToolOptions;

const call = (given: object, input: object, more: Partial<FromToolOptions> = {}) => {
  const service = defineService({ name: "desk", functions: [fromTool(given, { ...options, ...more })] });
  return callAs(service, { functionName: "refund", role: "clerk", input, context: { customerId: "c-1" } });
};
const manifestOf = (given: object, more: Partial<FromToolOptions> = {}) =>
  fromTool(given, { ...options, ...more }).manifest;

describe("a tool of the AI SDK", () => {
  const execute = async ({ id }: { id: string }) => ({ refunded: id });

  test.each([
    ["zod", zod],
    ["jsonSchema", jsonSchema<{ id: string }>(RAW)],
    ["jsonSchema with a check", jsonSchema<{ id: string }>(RAW, { validate: checked })],
    ["zodSchema", zodSchema(zod)],
    ["a function", () => zodSchema(zod)],
  ])("with a schema by %s checks the arguments and runs", async (_, inputSchema) => {
    const given = tool({ description: "Refunds.", inputSchema, execute });

    expect(manifestOf(given)).toMatchObject({
      description: "Refunds.",
      inputSchema: { properties: { id: { type: "string" } } },
    });
    expect(await call(given, { id: "A-1" })).toMatchObject({ ok: true, value: { refunded: "A-1" } });
    expect(await call(given, { id: "A" })).toMatchObject({ ok: false, code: "invalid_arguments" });
  });

  test("receives defaults, the context, the call and its signal", async () => {
    const seen: unknown[] = [];
    const given = tool({
      description: "Refunds.",
      inputSchema: zodSchema(zod),
      execute: (input, { toolCallId, abortSignal, ...more }) => {
        seen.push(input, more);
        return [toolCallId !== "", abortSignal instanceof AbortSignal];
      },
    });

    expect(await call(given, {})).toMatchObject({ ok: true, value: [true, true] });
    expect(seen).toMatchObject([{ id: "A-0" }, { context: { customerId: "c-1" }, messages: [] }]);
  });

  test("may compute its description, and yield results of which the last counts", async () => {
    const given = tool({
      description: () => "Refunds.",
      inputSchema: zod,
      async *execute() {
        yield "working";
        yield "done";
      },
    });

    expect(manifestOf(given).description).toBe("Refunds.");
    expect(await call(given, {})).toMatchObject({ value: "done" });
  });

  test("has an output schema, which removes what it does not list", async () => {
    const given = { description: "Refunds.", inputSchema: zod, outputSchema: z.object({ refunded: z.string() }) };
    const leaking = { ...given, execute: () => ({ refunded: "A-1", iban: "X" }) };

    expect(await call(leaking, {})).toMatchObject({ value: { refunded: "A-1" } });
  });

  test("of version 5 receives an experimental context", async () => {
    const old = {
      description: "Refunds.",
      inputSchema: zod,
      execute: (_: unknown, more: { experimental_context?: unknown }) => more.experimental_context,
    };

    expect(await call(old, {})).toMatchObject({ value: { customerId: "c-1" } });
  });

  test.each<[string, object, string]>([
    ["needs approvals without approvers", { needsApproval: true }, "the tool has needsApproval. Say who approves"],
    ["runs elsewhere", { execute: undefined }, "the tool runs no code here. Give a handler"],
    ["has a schema in a promise", { inputSchema: jsonSchema(Promise.resolve(RAW)) }, "its JSON Schema is a promise"],
    [
      "describes itself from the context",
      { description: ({ context }: { context: { shop: { name: string } } }) => context.shop.name },
      "its description needs a context",
    ],
  ])("that %s is refused with what to do", (_, more, message) => {
    const given = { description: "Refunds.", inputSchema: zod, execute, ...more };

    expect(() => fromTool(given, options)).toThrow(
      `fromTool: refund: ${message}`.replace("refund: its JSON", "refund: input: its JSON"),
    );
  });

  test("that needs approvals has those of its options", () => {
    const given = { description: "Refunds.", inputSchema: zod, execute, needsApproval: true };

    expect(manifestOf(given, { approval: { by: ["manager"] } }).approval).toMatchObject({ by: ["manager"] });
  });
});

const LANG_CHAIN = {
  name: "refund",
  description: "Refunds.",
  schema: zod,
  invoke(this: { name: string }, { id }: { id: string }, { signal }: { signal: AbortSignal }) {
    return `${this.name} ${id} ${signal.aborted}`;
  },
};

test("a tool of LangChain is invoked with the signal", async () => {
  expect(fromTool(LANG_CHAIN, { roles: ["clerk"] }).manifest.name).toBe("refund");
  expect(await call(LANG_CHAIN, { id: "A-1" })).toMatchObject({ value: "refund A-1 false" });
});

test.each<[string, object]>([
  ["chat completions", { type: "function", function: { name: "refund", description: "Refunds.", parameters: RAW } }],
  ["responses", { type: "function", name: "refund", description: "Refunds.", parameters: RAW, strict: true }],
])("OpenAI's function JSON of %s runs a handler", async (_, json) => {
  const handler = ({ id }: { id?: unknown }) => ({ refunded: id });

  expect(await call(json, { id: "A-1" }, { handler })).toMatchObject({ value: { refunded: "A-1" } });
  expect(await call(json, { id: "A" }, { handler })).toMatchObject({ code: "invalid_arguments" });
  expect(() => fromTool(json, { roles: ["clerk"] })).toThrow("fromTool: refund: the tool runs no code here.");
});

test("another object is refused with what it has", () => {
  expect(() => fromTool({ type: "object", properties: {} }, options)).toThrow(
    "with parameters). It was given type, properties.",
  );
});

describe("defineFunction", () => {
  const define = (input: object) => () =>
    defineFunction({ ...options, description: "Refunds.", input: input as never, handler: () => "" });

  test.each<[string, object, string]>([
    ["a schema of the AI SDK", jsonSchema(RAW), "write input: schema.jsonSchema"],
    ["a lazy one", () => zodSchema(zod), "and fromTool for a tool of another library"],
    ["a tool of the AI SDK", { inputSchema: zod }, "is a whole tool, not its schema. Give the tool to fromTool"],
    ["OpenAI's JSON", { type: "function", function: {} }, "is a whole tool"],
  ])("names fromTool where it is given %s", (_, input, message) => {
    expect(define(input)).toThrow(message);
  });
});

function checked(value: unknown) {
  const parsed = zod.safeParse(value);
  return parsed.success
    ? { success: true as const, value: parsed.data }
    : { success: false as const, error: new Error("the id is too short") };
}
