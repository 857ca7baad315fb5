import * as fc from "fast-check";
import { expect, test } from "vitest";
import { FUNCTION_NAME, PlaneFrame, rolesAllow, RuntimeFrame } from "../src/index.ts";

test("a role list allows exactly its roles; case and spaces matter", () => {
  expect(rolesAllow(["agent"], "agent")).toBe(true);
  for (const role of ["Agent", " agent", "agent ", "", undefined]) expect(rolesAllow(["agent"], role)).toBe(false);
});

test("what is open to everyone is open without a role", () => {
  expect(rolesAllow("everyone", undefined)).toBe(true);
  expect(rolesAllow("everyone", "anything")).toBe(true);
});

test("a list that names the word everyone is a list, not the word", () => {
  expect(rolesAllow(["everyone"], undefined)).toBe(false);
});

test("function names are 1 to 64 letters, digits, dots, dashes and underscores", () => {
  for (const name of ["a", "a.b-c_D9", "x".repeat(64)]) expect(FUNCTION_NAME.test(name)).toBe(true);
  for (const name of ["", "a b", "ä", "a/b", "x".repeat(65), "a\n"]) expect(FUNCTION_NAME.test(name)).toBe(false);
});

test("anything that is no frame is refused without an exception", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(RuntimeFrame.safeParse(value).success).toBe(false);
      expect(PlaneFrame.safeParse(value).success).toBe(false);
    }),
  );
});
