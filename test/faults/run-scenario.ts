import { randomInt } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createDice } from "../../examples/retail-desk/data/dice.ts";
import { PATIENCE } from "@patchbay/test-support/patience";
import { figureLine, type Outcome } from "./figures.ts";
import { type Lab, startLab } from "./lab.ts";
import type { Scenario, Terms } from "./scenarios/scenario.ts";

export type SeededTerms = Omit<Terms, "dice"> & { seed: number };

/** The patience of labs in the test suite: other tests run at the same time. `pnpm faults` judges guaranteed times. */
export const SHARED_PATIENCE = 3 * PATIENCE;

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

/** Steps that are stored one by one are correct, and slow: only the log names a grouped statement that is wrong. */
function failedGroups({ folder }: Pick<Lab, "folder">): string[] {
  const logs = join(folder, "logs");
  const lines = readdirSync(logs).flatMap((file) => readFileSync(join(logs, file), "utf8").split("\n"));
  return lines.filter((line) => line.includes("a group of rows could not be stored in one statement"));
}

/** Runs a scenario, and prints its figures as one line and every violation after it. */
export async function runOn(lab: Lab, scenario: Scenario, { seed, ...terms }: SeededTerms): Promise<Outcome> {
  process.stderr.write(`fault-lab ${scenario.name}: begins, seed ${seed}\n`);
  const outcome = await scenario.run(lab, { ...terms, dice: createDice(seed) });
  const violations = [...outcome.violations, ...failedGroups(lab)];
  const found = { figures: { seed, ...terms, ...outcome.figures, violations: violations.length }, violations };
  process.stderr.write(`${[figureLine(scenario.name, found.figures), ...found.violations].join("\n  ")}\n`);
  return found;
}
