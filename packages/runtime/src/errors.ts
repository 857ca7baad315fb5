import type { CallErrorCode, CallOutcome, Fault } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { createReference, type Log } from "./log.ts";

/**
 * A handler error whose message the model and the caller receive unchanged. Any other handler error stays in the
 * owner's log.
 */
export class FunctionError extends Error {
  override readonly name = "FunctionError";
}

/**
 * A handler error after which the call may be tried again, if its function has {@link FunctionOptions.retries}.
 * `afterMs`: milliseconds until then, for example from a `Retry-After` header. Like any other error it stays in the
 * owner's log.
 */
export class RetryableError extends Error {
  override readonly name = "RetryableError";
  readonly afterMs: number | undefined;

  constructor({ afterMs, message = "", ...options }: { afterMs?: number; message?: string; cause?: unknown } = {}) {
    super(message, options);
    if (afterMs !== undefined && !(Number.isFinite(afterMs) && afterMs >= 0))
      throw new RangeError(`RetryableError: afterMs must be a number of milliseconds, 0 or more, got ${afterMs}.`);
    this.afterMs = afterMs;
  }
}

/**
 * A handler error after a call with an unknown effect, such as a lost connection to the system that it called. The call
 * ends with `outcome_unknown`, and a message asks the model not to repeat it. A read-only or idempotent function's call
 * ends like any other failed call. The message stays in the owner's log.
 */
export class OutcomeUnknownError extends Error {
  override readonly name = "OutcomeUnknownError";
}

/**
 * A mistake in a function or service definition. Thrown by the define functions, so that a program with a mistake does
 * not start.
 */
export class DefinitionError extends Error {
  override readonly name = "DefinitionError";
}

/**
 * Why a runtime stopped: the control plane does not accept its key (`authentication_failed`), the key with this agent
 * id (`agent_mismatch`) or its function set (`manifest_refused`). Connecting again helps only after a change to one of
 * the three.
 */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly code: "authentication_failed" | "agent_mismatch" | "manifest_refused";

  constructor(code: ConnectionError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** A failed call's outcome. */
export type FailedOutcome = Extract<CallOutcome, { ok: false }>;

/** A failed outcome with a text for the model and the caller. */
export const failure = (code: CallErrorCode, message: string, rule?: string): FailedOutcome => ({
  ok: false,
  code,
  message,
  ...present({ rule }),
});

/** Logs an error from the owner's code, and returns an outcome with only a reference to the log line. */
export function failed(log: Log, what: string, fields: Record<string, unknown>): FailedOutcome {
  const reference = createReference();
  log.error(what, { reference, ...fields });
  return failure("function_failed", `The function failed. Reference: ${reference}`);
}

const FAULTS_SHOWN = 32;

/** The first faults as one text. */
export function listFaults(faults: readonly Fault[]): string {
  const shown = faults
    .slice(0, FAULTS_SHOWN)
    .map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  const rest = faults.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ");
}
