import { DEFAULT_LIMITS } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { parseLimits } from "../../src/accounts/limits.ts";

test("a limits file changes the limits that it names", () => {
  expect(parseLimits('{"callsPerTurn": 64}')).toEqual({ ...DEFAULT_LIMITS, callsPerTurn: 64 });
});

test("a limits file with mistakes is refused with every fault", () => {
  expect(() => parseLimits('{"callsPerTurn": 0, "callsPerQuery": 3}')).toThrow(
    /callsPerTurn: .*>=1.*Unrecognized key: "callsPerQuery"/,
  );
  expect(() => parseLimits("{")).toThrow("This one is not valid JSON.");
});
