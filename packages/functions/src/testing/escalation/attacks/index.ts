import type { Attack } from "./attack.ts";
import { frameAttacks } from "./frames.ts";
import { withheldTexts } from "./hooks.ts";
import { keyAttacks } from "./keys.ts";
import { nameAttacks } from "./names.ts";
import { removedFunctions } from "./removed.ts";
import { smugglingAttacks } from "./smuggling.ts";
import { threadAttacks } from "./threads.ts";

/** Every attack, in the order of the report. */
export const ATTACKS: readonly Attack[] = [
  ...nameAttacks,
  removedFunctions,
  ...smugglingAttacks,
  ...threadAttacks,
  withheldTexts,
  ...keyAttacks,
  ...frameAttacks,
];
