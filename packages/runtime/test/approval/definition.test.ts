import { Manifest } from "@patchbay/protocol";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { defineFunction, defineService, DefinitionError, type FunctionDefinition } from "../../src/index.ts";

const base = {
  name: "refund",
  description: "Refunds an order.",
  input: z.object({ orderId: z.string(), amount: z.number().default(1) }),
  roles: ["support", "manager"],
  handler: () => null,
};
const approved = (approval: object) => defineFunction({ ...base, approval: approval as never });
const serve = (one: FunctionDefinition, roles?: string[]) =>
  defineService({ name: "desk", functions: [one], ...(roles && { roles }) });

test("an approval is described with its defaults", () => {
  const { manifest } = serve(approved({ by: ["manager", "manager"] }));

  expect(manifest.functions[0]?.approval).toEqual({
    by: ["manager"],
    conditional: false,
    fourEyes: true,
    expiresInMs: 86_400_000,
  });
  expect(Manifest.parse(manifest)).toEqual(manifest);
});

test("an approval is described with its options", () => {
  const { approval } = approved({
    by: ["caller"],
    when: () => true,
    expiresIn: "90m",
    edit: ["amount"],
    fourEyes: true,
  }).manifest;

  expect(approval).toEqual({
    by: ["caller"],
    conditional: true,
    edit: ["amount"],
    fourEyes: true,
    expiresInMs: 5_400_000,
  });
});

test("a caller who confirms is the sender of the query, so four eyes are off by default", () => {
  expect(approved({ by: ["manager", "caller"] }).manifest.approval?.fourEyes).toBe(false);
});

test.each([
  ["60s", 60_000],
  ["1.5h", 5_400_000],
  ["30d", 2_592_000_000],
  [60_000, 60_000],
])("an approval may expire in %s", (expiresIn, expiresInMs) => {
  expect(approved({ by: ["manager"], expiresIn }).manifest.approval?.expiresInMs).toBe(expiresInMs);
});

const range = /approval.expiresIn must be from 1 minute to 30 days, got /;
const time = /approval.expiresIn must be a time such as "24h", "30m" or "7d", or milliseconds, got /;
test.each<[string, unknown, RegExp]>([
  ["a list", [], /Function "refund": approval must be an object such as \{ by: \["manager"\] \}/],
  ["true", true, /approval must be an object/],
  ["no by", {}, /approval.by must be a list of at least one role/],
  ["an empty by", { by: [] }, /approval.by must be a list of at least one role/],
  ["a by that is a string", { by: "manager" }, /approval.by must be a list/],
  ["an empty role", { by: [""] }, /approval.by must be a list/],
  [
    "a misspelt option",
    { by: ["manager"], four_eyes: false },
    /approval: unknown option four_eyes. The options are: by/,
  ],
  ["a when that is a boolean", { by: ["manager"], when: true }, /approval.when must be a function/],
  ["fourEyes that is a number", { by: ["manager"], fourEyes: 1 }, /approval.fourEyes must be true or false/],
  ["59 seconds", { by: ["manager"], expiresIn: "59s" }, range],
  ["31 days", { by: ["manager"], expiresIn: "31d" }, range],
  ["half a millisecond", { by: ["manager"], expiresIn: 60_000.5 }, time],
  ["a time without a unit", { by: ["manager"], expiresIn: "24" }, time],
  ["a week", { by: ["manager"], expiresIn: "1w" }, time],
  ["an edit that is a string", { by: ["manager"], edit: "amount" }, /approval.edit must be a list of members/],
  [
    "an edit of a member that the input does not have",
    { by: ["manager"], edit: ["amuont"] },
    /approval.edit names "amuont", which is not a member of the input. Its members are: orderId, amount\./,
  ],
  ["an edit of an inherited name", { by: ["manager"], edit: ["toString"] }, /approval.edit names "toString"/],
])("an approval with %s is a mistake", (_, approval, message) => {
  const define = () => approved(approval as object);

  expect(define).toThrow(DefinitionError);
  expect(define).toThrow(message);
});

test("an approver who has no role of the service is a mistake", () => {
  const define = () => serve(approved({ by: ["boss"] }));

  expect(define).toThrow(DefinitionError);
  expect(define).toThrow(
    'Service "desk": function "refund": approval.by names the role "boss", which is not among support, manager. Correct it, or add it to the roles of the service.',
  );
  expect(serve(approved({ by: ["boss"] }), ["support", "manager", "boss"]).manifest.roles).toContain("boss");
});

test("a service with a role named caller cannot let the caller confirm", () => {
  const define = () => serve(approved({ by: ["caller"] }), ["support", "manager", "caller"]);

  expect(define).toThrow(/"caller", which means the role of the query, but a role of the service has this name/);
});

test("when receives the parsed input, and edit names members of the input", () => {
  defineFunction({
    ...base,
    approval: {
      by: ["manager"],
      edit: ["amount", "orderId"],
      when({ input, role }) {
        expectTypeOf(input).toEqualTypeOf<{ orderId: string; amount: number }>();
        expectTypeOf(role).toEqualTypeOf<string | undefined>();
        return input.amount > 100 && "Refunds above 100 need a manager.";
      },
    },
  });
  // @ts-expect-error the input has no such member
  void (() => defineFunction({ ...base, approval: { by: ["manager"], edit: ["amuont"] } }));
  // @ts-expect-error a time needs a unit
  void (() => defineFunction({ ...base, approval: { by: ["manager"], expiresIn: "24" } }));
});
