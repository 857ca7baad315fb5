import { expect, test } from "vitest";
import { OAUTH_RULES } from "./oauth-rules.ts";
import { promiseFaults } from "./promises.ts";

test("every rule of OAuth for resource servers has its tests", () => {
  expect(promiseFaults(OAUTH_RULES, { stored: {}, scenarios: new Set() })).toEqual([]);
});
