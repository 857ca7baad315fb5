import { expect, test } from "vitest";
import { whyDenied } from "../../src/console/why-denied.ts";
import { manifestOf } from "../run/fake-gateway.ts";

const denied = { functionName: "refund", role: "guest", rule: "roles", message: "" };
const named = (count: number) => Array.from({ length: count }, (_, i) => `r${i}`);

test("the reason of a refused call names ten roles of a list, and counts the others", () => {
  expect(whyDenied(denied, manifestOf({ refund: named(10) }))).toContain("(r0, r1, r2, r3, r4, r5, r6, r7, r8, r9)");
  expect(whyDenied(denied, manifestOf({ refund: named(100) }))).toContain(
    "r8, r9 and 90 more) does not name role guest",
  );
  expect(whyDenied(denied, manifestOf({ refund: [] }))).toContain("(empty)");
});
