import { applyMutant } from "../simulation/mutants.ts";
import { LOST_LABELS } from "./mutants.ts";

/** Plays the scenario of a mutant with the product that it makes, and prints whether the attacker's target was reached. */
const [name = ""] = process.argv.slice(2);
applyMutant(name, Object.values(LOST_LABELS).flat());
// Only now: the product is imported with the mutant's change.
const { SCENARIOS } = await import("./scenarios.ts");
const [scenario = ""] =
  Object.entries(LOST_LABELS).find(([, mutants]) => mutants.some((one) => one.name === name)) ?? [];
process.stdout.write(`${JSON.stringify({ reached: await SCENARIOS[scenario]!() })}\n`);
process.exit(0);
