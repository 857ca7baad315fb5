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
} from "../src/index.ts";

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

test("InputOf and OutputOf are the types of a schema", () => {
  const schema = z.object({ n: z.string().transform(Number) });

  expectTypeOf<InputOf<typeof schema>>().toEqualTypeOf<{ n: string }>();
  expectTypeOf<OutputOf<typeof schema>>().toEqualTypeOf<{ n: number }>();
  expectTypeOf<OutputOf<{ type: "object" }>>().toEqualTypeOf<JsonObject>();
});
