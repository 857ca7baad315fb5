import type { WidenedSet } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { isConfirmable, nameOfDeployment, textsOf } from "../../src/parts/access/widened-sets.tsx";

const set = (change: Partial<WidenedSet> = {}): WidenedSet => ({
  service: "desk",
  deployment: "v1",
  named: true,
  manifestHash: "a".repeat(64),
  replaces: null,
  firstSeenAt: "2026-11-22T12:00:00.000Z",
  widenings: [{ functionName: "refund", text: "refund: authorize no longer decides call by call." }],
  omitted: 0,
  confirmation: "pending",
  newest: true,
  confirmedBy: null,
  confirmedAt: null,
  ...change,
});

test("only the newest deployment that waits with a function set can be confirmed", () => {
  const [newest, sameSet, otherSet, used, confirmed] = [
    set({ deployment: "v5" }),
    set({ deployment: "v4" }),
    set({ deployment: "v3", manifestHash: "b".repeat(64) }),
    set({ deployment: "v2", confirmation: "none", manifestHash: "c".repeat(64) }),
    set({ deployment: "v1", confirmation: "confirmed", manifestHash: "d".repeat(64) }),
  ];
  const all = [newest, sameSet, otherSet, used, confirmed];

  expect(all.filter((one) => isConfirmable(one, all))).toEqual([newest, otherSet]);
});

test("a deployment without a name is identified by its runtime", () => {
  expect(nameOfDeployment(set())).toBe("deployment v1 of desk");
  expect(nameOfDeployment(set({ named: false, deployment: "rt_1" }))).toBe("desk of runtime rt_1");
});

test("changes that are not listed are counted", () => {
  expect(textsOf(set({ omitted: 3 }))).toEqual([
    "refund: authorize no longer decides call by call.",
    "3 more changes are not listed.",
  ]);
});
