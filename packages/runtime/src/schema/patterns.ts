import { compilePattern, type Pattern } from "@patchbay/schema";
import { TooManySteps } from "@patchbay/kit";

/**
 * Steps for all patterns in one validation, about 0.2 s. A longer validation would hold up heartbeats and the process's
 * other calls.
 */
const STEPS = 5_000_000;

/** A schema's compiled pattern. */
export interface Matcher {
  /** True if the pattern matches anywhere in the text. */
  test(text: string): boolean;
}

/** The current validation's steps. A validation is synchronous, so there is at most one. */
let current: { left: number } | undefined;

/** Runs one validation, whose patterns share {@link STEPS}. Throws {@link TooManySteps} beyond them. */
export function withSteps<T>(work: () => T): T {
  if (current) return work();
  current = { left: STEPS };
  try {
    return work();
  } finally {
    current = undefined;
  }
}

/**
 * Compiles a raw JSON Schema pattern for an engine that does not backtrack: the pattern may come from another party's
 * server, the text from a model, and the built-in engine takes minutes for `^(a+)+$` and 30 letters. All patterns in a
 * schema take their size from one `room`. Throws an error with a reason for what such an engine cannot match.
 */
export function linearMatcher(source: string, room?: { parts: number }): Matcher {
  const pattern: Pattern = compilePattern(source, room);
  return {
    test: (text) => pattern.test(text, current ?? { left: STEPS }),
    // Ajv shares a schema's compiled patterns by this text.
    toString: () => source,
  } as Matcher;
}

const known = new Map<string, Matcher>();

/** The same for a schema that a library wrote, whose own patterns the built-in engine runs in any case. */
export function ownMatcher(source: string): Matcher {
  let matcher = known.get(source);
  if (matcher === undefined) known.set(source, (matcher = linearOrOwn(source)));
  return matcher;
}

function linearOrOwn(source: string): Matcher {
  try {
    return linearMatcher(source);
  } catch {
    return new RegExp(source, "u");
  }
}

/** The fault in a value whose validation needs too many steps. Undefined for any other error. */
export const stepsFault = (error: unknown): string | undefined =>
  error instanceof TooManySteps
    ? `cannot be checked: its patterns need more than ${STEPS} steps. Send shorter texts.`
    : undefined;
