import { randomFraction } from "@patchbay/kit/time";
import { LIMITS } from "@patchbay/protocol";
import { DefinitionError, FunctionError, RetryableError } from "./errors.ts";
import type { Log } from "./log.ts";

/** When a failed call is tried again. */
export interface Retries {
  /** Attempts at one call, the first included: 2 to 10. Attempts in lost runtimes count. */
  max: number;
  /**
   * True if the call may be tried again after this handler error. Default: after every error. A {@link RetryableError}
   * is always followed by another attempt, and a {@link FunctionError} never.
   */
  on?: (error: unknown) => boolean;
}

/** Upper ends of the pauses: for the first retry, which doubles from there, and for all. */
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;

/** Throws unless `retries` is valid and the function may be retried. */
export function checkRetries(retries: unknown, repeatable: boolean, where: string): void {
  if (retries === undefined) return;
  const { max, on, ...rest } = (retries ?? {}) as Partial<Retries>;
  if (!Number.isInteger(max) || max! < 2 || max! > LIMITS.retriesMax)
    throw new DefinitionError(
      `${where}: retries.max must be an integer from 2 to ${LIMITS.retriesMax}, got ${String(max)}. It counts the first attempt too.`,
    );
  if (on !== undefined && typeof on !== "function")
    throw new DefinitionError(`${where}: retries.on must be a function, or absent.`);
  const unknown = Object.keys(rest);
  if (unknown.length > 0)
    throw new DefinitionError(
      `${where}: unknown option retries.${unknown.join(", retries.")}. The options are: max, on.`,
    );
  if (!repeatable)
    throw new DefinitionError(
      `${where}: retries could repeat a write that took effect. Set effect: "read", or idempotent: true if a call may safely run twice.`,
    );
}

/** Milliseconds until the next attempt after a handler error. Undefined if none may follow. */
export function retryAfter(
  retries: Retries | undefined,
  error: unknown,
  { attempt, log, random = randomFraction }: { attempt: number; log: Log; random?: () => number },
): number | undefined {
  if (retries === undefined || error instanceof FunctionError) return undefined;
  const asked = error instanceof RetryableError;
  if (!asked && !isRetried(retries, error, log)) return undefined;
  if (asked && error.afterMs !== undefined) return error.afterMs;
  const spanMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1));
  return Math.round(spanMs * (0.5 + random() / 2));
}

function isRetried({ on }: Retries, error: unknown, log: Log): boolean {
  try {
    return on === undefined || on(error);
  } catch (failure) {
    log.error("retries.on failed, so the call is not tried again", { error: failure });
    return false;
  }
}
