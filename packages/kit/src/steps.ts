import type { JsonObject } from "./json.ts";

/**
 * The remaining work allowance for other people's schemas and values. A step takes about 20 ns on a desktop computer.
 * Steps and not milliseconds are counted, so that equal input has the same answer on every machine.
 */
export interface Steps {
  left: number;
  /**
   * Steps for reading a schema object, for objects that were read before. A module-level map would slow down each
   * garbage collection.
   */
  sizes?: Map<JsonObject, number>;
}

/** For work on what the caller has written. */
export const UNLIMITED: Steps = Object.freeze({ left: Infinity });

/** Thrown before work that needs more steps than are left. */
export class TooManySteps extends Error {
  override readonly name = "TooManySteps";
}

export function takeSteps(steps: Steps, count = 1): void {
  if (steps === UNLIMITED) return;
  steps.left -= count;
  if (steps.left < 0) throw new TooManySteps("the work needs too many steps");
}

/** Does work with at most this share of the remaining steps. If it needs more, returns the result of `otherwise`. */
export function within<T>(steps: Steps, most: number, work: (own: Steps) => T, otherwise: () => T): T {
  const given = Math.floor(Math.max(0, Math.min(most, steps.left)));
  const own: Steps = { left: given, sizes: (steps.sizes ??= new Map()) };
  try {
    return work(own);
  } catch (error) {
    if (error instanceof TooManySteps) return otherwise();
    throw error;
  } finally {
    steps.left -= given - Math.max(0, own.left);
  }
}
