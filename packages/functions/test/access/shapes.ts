import { describe, expect, test } from "vitest";
import type { JsonValue, Schema } from "../../src/index.ts";
import { resultFor } from "./result-of.ts";

/** A result with a secret, and what is left of it. */
export interface Shape {
  output: Schema;
  result: unknown;
  /** What anybody but support gets. */
  seen: JsonValue;
  redacted: string[];
}

/** Stands in every place of a result that only support may see. */
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
    test.each([undefined, "staff", "Support", "support ", "everyone"])("is taken out for role %s", async (role) => {
      const outcome = await resultFor(role, output, result);

      expect(outcome).toEqual({ ok: true, value: seen, redacted });
      expect(JSON.stringify(outcome)).not.toContain(S);
    });

    test("is whole for a role it is marked for", async () => {
      const outcome = await resultFor("support", output, result);

      expect(outcome).not.toHaveProperty("redacted");
      expect(JSON.stringify(outcome)).toContain(S);
    });
  });
}
