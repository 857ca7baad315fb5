import { describe, expect, test } from "vitest";
import type { JsonValue, Schema } from "../../src/index.ts";
import { resultFor } from "./result-of.ts";

/** A result with a secret, and its redacted form. */
export interface Shape {
  output: Schema;
  result: unknown;
  /** The result for roles other than support. */
  seen: JsonValue;
  redacted: string[];
}

/** The value of every place that only support may see. */
export const S = "SECRET";

export const events = [
  { kind: "open", text: "hello" },
  { kind: "closed", text: S },
];
export const tree = { name: "a", note: S, children: [{ name: "b", note: S, children: [] }] };
export const seenTree = { name: "a", children: [{ name: "b", children: [] }] };
export const treePaths = ["note", "children[].note"];

export function testShapes(shapes: Record<string, Shape>): void {
  describe.each(Object.entries(shapes))("%s", (_, { output, result, seen, redacted }) => {
    test.each([undefined, "staff", "Support", "support ", "everyone"])("is removed for role %s", async (role) => {
      const outcome = await resultFor(role, output, result);

      expect(outcome).toEqual({ ok: true, value: seen, redacted });
      expect(JSON.stringify(outcome)).not.toContain(S);
    });

    test("is complete for a role of the mark", async () => {
      const outcome = await resultFor("support", output, result);

      expect(outcome).not.toHaveProperty("redacted");
      expect(JSON.stringify(outcome)).toContain(S);
    });
  });
}
