import { expect, test } from "vitest";
import { z } from "zod";
import { defineFunction, defineService, DefinitionError, type FunctionCase } from "../../src/index.ts";

const probe = { name: "probe", description: "x", roles: ["agent"], handler: () => null };
const input = z.object({ id: z.string(), at: z.string().transform((text) => new Date(text)) });

test("cases take what the schema takes, not what it makes, and types say so", () => {
  const { cases } = defineFunction({
    ...probe,
    input,
    cases: { own: { input: { id: "1", at: "2026-11-21" }, context: { userId: "ada" }, roles: ["agent"] } },
  });

  expect(cases.get("own")).toEqual({
    input: { id: "1", at: "2026-11-21" },
    context: { userId: "ada" },
    roles: ["agent"],
  });
  const misfit = () =>
    // @ts-expect-error the schema takes a text, and makes a date of it
    defineFunction({ ...probe, input, cases: { own: { input: { id: "1", at: 7 } } } });
  expect(misfit).toThrow(DefinitionError);
});

test.each<[string, unknown, RegExp]>([
  [
    "arguments that do not fit",
    { input: { id: 7, at: "x" } },
    /case "one": the function does not accept its input: id: /,
  ],
  ["no arguments", { context: {} }, /a case is an object with input/],
  ["a list", [], /a case is an object with input/],
  ["an unknown member", { input: { id: "1", at: "x" }, rolls: [] }, /there is no member rolls/],
  ["a context that is no object", { input: { id: "1", at: "x" }, context: "ada" }, /context must be an object/],
  ["roles that are no list", { input: { id: "1", at: "x" }, roles: "agent" }, /roles must be a list/],
  ["a role that is no text", { input: { id: "1", at: "x" }, roles: [1] }, /a role is a text/],
  ["arguments that are no JSON", { input: { id: 1n } }, /input is no JSON: id is a bigint/],
])("a case with %s is a mistake of the definition", (_, one, message) => {
  const define = () => defineFunction({ ...probe, input, cases: { one: one as FunctionCase<z.input<typeof input>> } });

  expect(define).toThrow(DefinitionError);
  expect(define).toThrow(message);
});

test("cases that are no object, or have no name, are mistakes", () => {
  expect(() => defineFunction({ ...probe, input: z.object({}), cases: [] as never })).toThrow(
    /cases must be an object/,
  );
  expect(() => defineFunction({ ...probe, input: z.object({}), cases: { "": { input: {} } } })).toThrow(
    /named by 1 to 64/,
  );
});

test("a case for a role that the service does not know is a mistake", () => {
  const one = defineFunction({ ...probe, input: z.object({}), cases: { one: { input: {}, roles: ["agnet"] } } });

  expect(() => defineService({ name: "desk", functions: [one] })).toThrow(
    'Service "desk": function "probe": case "one" names the role "agnet", which is not among agent.',
  );
});

test("cases are sent to nobody", () => {
  const one = defineFunction({ ...probe, input: z.object({}), cases: { secretCase: { input: {} } } });
  const { manifest } = defineService({ name: "desk", functions: [one] });

  expect(JSON.stringify(manifest)).not.toContain("secretCase");
});
