import { randomInt } from "node:crypto";
import { createDice } from "../../examples/retail-desk/data/dice.ts";
import { figureLine, type Outcome } from "./figures.ts";
import { type Lab, startLab } from "./lab.ts";
import type { Scenario, Terms } from "./scenarios/scenario.ts";

export type SeededTerms = Omit<Terms, "dice" | "patience"> & { seed: number };

/** The patience of labs in the test suite: other tests run at the same time. */
export const SHARED_PATIENCE = 3;

/** The value of PATCHBAY_FAULT_SEED, or a random seed. */
export function chooseSeed(): number {
  const given = process.env["PATCHBAY_FAULT_SEED"];
  return given === undefined ? randomInt(2 ** 31) : Number(given);
}

/** Runs a scenario on its own lab. */
export async function runScenario(scenario: Scenario, terms: SeededTerms, patience = 1): Promise<Outcome> {
  await using lab = await startLab(scenario.lab, patience);
  return await runOn(lab, scenario, terms);
}

/** Runs a scenario, and prints its figures as one line and every violation after it. */
export async function runOn(lab: Lab, scenario: Scenario, { seed, ...terms }: SeededTerms): Promise<Outcome> {
  process.stderr.write(`fault-lab ${scenario.name}: begins, seed ${seed}\n`);
  const outcome = await scenario.run(lab, { ...terms, patience: lab.patience, dice: createDice(seed) });
  const found = { figures: { seed, ...outcome.figures }, violations: outcome.violations };
  process.stderr.write(`${[figureLine(scenario.name, found), ...found.violations].join("\n  ")}\n`);
  return found;
}
