import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { findMutant } from "./hunt.ts";
import { MUTANTS, mutated, pathOf } from "./mutants.ts";

test.each(MUTANTS)("the text that $name changes occurs once", (mutant) => {
  const text = readFileSync(pathOf(mutant), "utf8");

  expect(mutated(mutant, text)).not.toBe(text);
});

test.each(["shown-before-commit", "hold-kept", "lease-tripled"])("the first 20 seeds find %s", async (name) => {
  expect(await findMutant(name, 20)).toEqual({ seed: expect.any(Number), violation: expect.any(String) });
});
