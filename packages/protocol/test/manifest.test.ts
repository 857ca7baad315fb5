import { expect, test } from "vitest";
import { explainDenial, FUNCTION_NAME, rolesAllow } from "../src/index.ts";

test("a role list allows exactly its roles, with case and spaces", () => {
  expect(rolesAllow(["agent"], "agent")).toBe(true);
  for (const role of ["Agent", " agent", "agent ", "", undefined]) expect(rolesAllow(["agent"], role)).toBe(false);
});

test("a function for everyone is open without a role", () => {
  expect(rolesAllow("everyone", undefined)).toBe(true);
  expect(rolesAllow("everyone", "anything")).toBe(true);
});

test('a list with a role named "everyone" is not open to everyone', () => {
  expect(rolesAllow(["everyone"], undefined)).toBe(false);
});

test("function names are 1 to 64 letters, digits, dots, dashes and underscores", () => {
  for (const name of ["a", "a.b-c_D9", "x".repeat(64)]) expect(FUNCTION_NAME.test(name)).toBe(true);
  for (const name of ["", "a b", "ä", "a/b", "x".repeat(65), "a\n"]) expect(FUNCTION_NAME.test(name)).toBe(false);
});

const denial = { functionName: "refund", role: "guest", roles: ["admin"], message: "No." };
const named = (count: number) => Array.from({ length: count }, (_, i) => `r${i}`);

test.each([
  ["unknown", "The function set has no function refund."],
  [
    "roles",
    "The role list of refund (admin) does not include role guest: the model does not see the function, and calls are denied.",
  ],
  ["context", "The context of the query was refused: No."],
  ["input", "The role list of refund (admin) allows role guest, but the arguments were refused: No."],
  ["authorize", "The role list of refund (admin) allows role guest, but authorize refused the call: No."],
])("a call that the rule %s denies is explained", (rule, sentence) => {
  expect(explainDenial({ ...denial, rule })).toBe(sentence);
});

test("an explanation names the first ten roles of a list", () => {
  const explain = (roles: string[] | undefined) => explainDenial({ ...denial, rule: "roles", roles, role: undefined });
  expect(explain(named(10))).toContain("(r0, r1, r2, r3, r4, r5, r6, r7, r8, r9) does not include a query without");
  expect(explain(named(100))).toContain("r8, r9 and 90 more)");
  expect(explain([])).toContain("(empty)");
  expect(explain(undefined)).toContain("The role list of refund does not include");
});
