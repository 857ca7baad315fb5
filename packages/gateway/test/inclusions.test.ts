import type { Inclusions, Manifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "@patchbay/protocol";
import { manifestFault } from "../src/handshake/manifest-limits.ts";
import { commonInclusions } from "../src/routing/inclusions.ts";

const setOf = (roles: string[], roleOptions?: Inclusions): Manifest => ({
  name: "desk",
  roles,
  ...(roleOptions && { roleOptions: { ...roleOptions } }),
  preparesContext: false,
  functions: [],
});
const chain: Inclusions = {
  manager: { includes: ["support"], description: "Decides." },
  director: { includes: ["manager"] },
};
const desk = setOf(["support", "manager", "director"], chain);

test("the inclusions of one service are those of the agent", () => {
  expect(commonInclusions([desk])).toEqual(chain);
  expect(commonInclusions([setOf(["support"])])).toBeUndefined();
  expect(commonInclusions([])).toBeUndefined();
});

test("in several services, a role includes another where each that knows the other says so", () => {
  const more: [Manifest, string[], string[]][] = [
    [setOf(["clerk"]), ["support"], ["manager", "support"]],
    [setOf(["manager"]), ["support"], ["support"]],
    [setOf(["support"]), [], ["manager"]],
    [setOf(["support", "manager"], { manager: { includes: ["support"] } }), ["support"], []],
    [setOf(["support", "director"], { director: { includes: ["support"] } }), [], ["manager", "support"]],
    [desk, ["support"], ["manager", "support"]],
  ];
  for (const [other, manager, director] of more)
    for (const pair of [
      [desk, other],
      [other, desk],
    ]) {
      const common = commonInclusions(pair)!;
      expect([common["manager"]?.includes ?? [], (common["director"]?.includes ?? []).toSorted()]).toEqual([
        manager,
        director,
      ]);
      expect(common["manager"]?.description).toBe("Decides.");
    }
});

test("a function set with too many inclusions is refused, and included roles count as roles", () => {
  const names = Array.from({ length: 201 }, (_, i) => `r${i}`);
  expect(manifestFault(setOf(["a"], { a: { includes: names } }), DEFAULT_LIMITS)).toBe(
    "201 roles in a exceed rolesPerService (200).",
  );
  const halves = { a: { includes: names.slice(0, 150) }, b: { includes: names.slice(150) } };
  expect(manifestFault(setOf(["a", "b"], halves), DEFAULT_LIMITS)).toContain("203 roles exceed rolesPerService (200)");
});
