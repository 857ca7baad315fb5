import type { Dice } from "../../../examples/retail-desk/data/dice.ts";
import type { Outcome } from "../figures.ts";
import type { Lab, LabOptions } from "../lab.ts";

export interface Terms {
  /** How long the fault lasts, or is repeated. */
  seconds: number;
  /** Queries a second. */
  rate: number;
  dice: Dice;
  /** Times are promised of a machine with nothing else to do; where tests share one they may take so many times as long. */
  patience: number;
}

/** A fault, what goes on meanwhile, and what must hold after it. */
export interface Scenario {
  readonly name: string;
  /** One sentence of what is promised. */
  readonly promise: string;
  readonly lab: LabOptions;
  run(lab: Lab, terms: Terms): Promise<Outcome>;
}

/** Adds what a scenario itself saw to what the checker found. */
export function together(found: Outcome, figures: Outcome["figures"], promises: Record<string, boolean>): Outcome {
  const broken = Object.entries(promises).flatMap(([promise, kept]) => (kept ? [] : [`not kept: ${promise}`]));
  return { figures: { ...found.figures, ...figures }, violations: [...found.violations, ...broken] };
}
