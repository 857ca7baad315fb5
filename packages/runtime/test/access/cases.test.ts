import { expect, test } from "vitest";
import { z } from "zod";
import { defineFunction, defineService, DefinitionError, type FunctionCase } from "../../src/index.ts";

const probe = { name: "probe", description: "x", roles: ["agent"], handler: () => null };
const input = z.object({ id: z.string(), at: z.string().transform((text) => new Date(text)) });

test("cases have the input type of the schema", () => {
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
    // @ts-expect-error the schema accepts a string, and makes a date of it
    defineFunction({ ...probe, input, cases: { own: { input: { id: "1", at: 7 } } } });
  expect(misfit).toThrow(DefinitionError);
});

test.each<[string, unknown, RegExp]>([
  ["invalid arguments", { input: { id: 7, at: "x" } }, /case "one": the function does not accept its input: id: /],
  ["no arguments", { context: {} }, /a case must be an object with input/],
  [
    "a caller without an issuer",
    { input: { id: "1", at: "x" }, caller: { subject: "ada" } },
    /caller must be an object with subject, issuer/,
  ],
  ["a list", [], /a case must be an object with input/],
  ["an unknown property", { input: { id: "1", at: "x" }, rolls: [] }, /unknown property rolls/],
  ["a context that is a string", { input: { id: "1", at: "x" }, context: "ada" }, /context must be an object/],
  [
    "a context that is not JSON",
    { input: { id: "1", at: "x" }, context: { tenant: 10n } },
    /case "one": context is not JSON: tenant is a bigint/,
  ],
  ["roles that are a string", { input: { id: "1", at: "x" }, roles: "agent" }, /roles must be a list/],
  ["a role that is a number", { input: { id: "1", at: "x" }, roles: [1] }, /a role must be a string/],
  ["arguments that are not JSON", { input: { id: 1n } }, /input is not JSON: id is a bigint/],
])("a case with %s is a mistake of the definition", (_, one, message) => {
  const define = () => defineFunction({ ...probe, input, cases: { one: one as FunctionCase<z.input<typeof input>> } });

  expect(define).toThrow(DefinitionError);
  expect(define).toThrow(message);
});

test("a list of cases and a case without a name are mistakes", () => {
  expect(() => defineFunction({ ...probe, input: z.object({}), cases: [] as never })).toThrow(
    /cases must be an object/,
  );
  expect(() => defineFunction({ ...probe, input: z.object({}), cases: { "": { input: {} } } })).toThrow(
    /name of a case must have 1 to 64/,
  );
});

test("a case for a role that the service does not know is a mistake", () => {
  const one = defineFunction({ ...probe, input: z.object({}), cases: { one: { input: {}, roles: ["agnet"] } } });

  expect(() => defineService({ name: "desk", functions: [one] })).toThrow(
    'Service "desk": function "probe": case "one" names the role "agnet", which is not among agent.',
  );
});

test("cases are not in the manifest", () => {
  const one = defineFunction({ ...probe, input: z.object({}), cases: { secretCase: { input: {} } } });
  const { manifest } = defineService({ name: "desk", functions: [one] });

  expect(JSON.stringify(manifest)).not.toContain("secretCase");
});
