import { LIMITS, Manifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineFunction, defineService, DefinitionError } from "../src/index.ts";
import { call, memoryLog, serviceOf } from "./calls.ts";

const base = {
  name: "refund",
  description: "Refunds an order.",
  input: z.object({
    orderId: z.string(),
    at: z
      .string()
      .transform((text) => new Date(text))
      .optional(),
  }),
  roles: ["support"],
  handler: () => "done",
};

test("a function is described for people, clients and models", () => {
  const labels = {
    title: "Refund an order",
    tags: ["orders", "money"],
    examples: [{ orderId: "W1" }, { orderId: "W2", at: "2026-11-23" }],
    openWorld: true,
    deprecated: "use refund_order",
  };
  const { manifest } = defineService({
    name: "desk",
    functions: [defineFunction({ ...base, ...labels, tags: [...labels.tags, "orders"] })],
  });

  expect(manifest.functions[0]).toMatchObject(labels);
  expect(Manifest.parse(manifest)).toEqual(manifest);
});

test("a function without labels has no such members, also not openWorld: false", () => {
  const { manifest } = defineFunction({ ...base, openWorld: false });

  for (const name of ["title", "tags", "examples", "openWorld", "deprecated"])
    expect(manifest).not.toHaveProperty(name);
});

test("examples have the input type of the schema", () => {
  // @ts-expect-error the schema accepts a text, and makes a date of it
  const misfit = () => defineFunction({ ...base, examples: [{ orderId: "W1", at: new Date(0) }] });

  expect(misfit).not.toThrow();
});

const label = "a text of 1 to 200 characters";
test.each<[string, object, string]>([
  ["an empty title", { title: "" }, `title must be ${label}.`],
  ["a title of 201 characters", { title: "x".repeat(201) }, `title must be ${label}.`],
  ["tags that are a text", { tags: "money" }, "tags must be a list of texts"],
  ["an empty tag", { tags: [""] }, "tags must be a list of texts"],
  [
    "too many tags",
    { tags: Array.from({ length: LIMITS.tagsPerFunction + 1 }, (_, i) => `t${i}`) },
    "21 tags exceed the limit of 20.",
  ],
  ["an example that is not a list", { examples: {} }, "examples must be a list of arguments."],
  ["an example that is a text", { examples: ["W1"] }, "examples[0] must be an object of arguments, as JSON."],
  [
    "an example that is not JSON",
    { examples: [{ orderId: 1n }] },
    "examples[0] must be an object of arguments, as JSON.",
  ],
  [
    "an example that the schema refuses",
    { examples: [{ orderId: "W1" }, { orderId: 7 }] },
    'Function "refund": the function does not accept examples[1]: orderId: ',
  ],
  [
    "six examples",
    { examples: Array.from({ length: 6 }, () => ({ orderId: "W1" })) },
    "6 examples exceed the limit of 5.",
  ],
  [
    "a large example",
    { examples: [{ orderId: "x".repeat(4_096) }] },
    "examples[0] has 4110 bytes, which exceed the limit of 4096.",
  ],
  ["an openWorld that is a text", { openWorld: "yes" }, "openWorld must be true or false."],
  ["a deprecated that is true", { deprecated: true }, `deprecated must be ${label} that says what to use`],
])("%s is a mistake", (_, change, message) => {
  const define = () => defineFunction({ ...base, ...change });

  expect(define).toThrow(DefinitionError);
  expect(define).toThrow(message);
});

test("a deprecated function can be called, and each call is logged", async () => {
  const log = memoryLog();
  const service = serviceOf(defineFunction({ ...base, deprecated: "use refund_order" }));

  expect(await call(service, "refund", { orderId: "W1" }, { role: "support", log })).toEqual({
    ok: true,
    value: "done",
  });
  expect(log.lines).toContainEqual({
    level: "warn",
    message: "a deprecated function is called",
    fields: { functionName: "refund", runId: "run_1", callId: "call_1", instead: "use refund_order" },
  });
});
