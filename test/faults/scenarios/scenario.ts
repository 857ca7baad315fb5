import type { Dice } from "../../../examples/retail-desk/data/dice.ts";
import type { Outcome } from "../figures.ts";
import type { Lab } from "../lab.ts";
import type { LabOptions } from "../services.ts";

export interface Terms {
  /** Duration of the fault, or of its repetition. */
  seconds: number;
  /** Queries per second. */
  rate: number;
  dice: Dice;
}

/** A fault, the load during it, and its figures. The limits of guaranteed times are in `promises`, not here. */
export interface Scenario {
  readonly name: string;
  /** The guarantee in one sentence. */
  readonly promise: string;
  readonly lab: LabOptions;
  run(lab: Lab, terms: Terms): Promise<Outcome>;
}

/** Adds the figures and guarantees of a scenario to those of the checker. */
export function together(found: Outcome, figures: Outcome["figures"], promises: Record<string, boolean>): Outcome {
  const broken = Object.entries(promises).flatMap(([promise, kept]) => (kept ? [] : [`not kept: ${promise}`]));
  return { figures: { ...found.figures, ...figures }, violations: [...found.violations, ...broken] };
}
