import type { CallOutcome, Fault } from "@patchbay/protocol";
import { createReference, type Log } from "./log.ts";

/** An error of a handler whose message the model and the caller receive unchanged. Any other error of a handler stays in the owner's log. */
export class FunctionError extends Error {
  override readonly name = "FunctionError";
}

/**
 * An error of a handler after which the call may be tried again, if its function has {@link FunctionOptions.retries}. `afterMs`:
 * milliseconds until then, such as those of a `Retry-After` header. Like any other error it stays in the owner's log.
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
 * An error of a handler that cannot know whether its call took effect, such as a lost connection to the system that it called. The call
 * ends with `outcome_unknown`, and the model reads not to repeat it. If the function reads only or is idempotent, it ends like any
 * other failed call. The message stays in the owner's log.
 */
export class OutcomeUnknownError extends Error {
  override readonly name = "OutcomeUnknownError";
}

/** A mistake in the definition of a function or a service. Thrown by the define functions, so that a program with a mistake does not start. */
export class DefinitionError extends Error {
  override readonly name = "DefinitionError";
}

/**
 * Why a runtime stopped: the control plane does not accept its key (`authentication_failed`), the key with this agent id
 * (`agent_mismatch`) or its function set (`manifest_refused`). Connecting again helps only after one of them is changed.
 */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly code: "authentication_failed" | "agent_mismatch" | "manifest_refused";

  constructor(code: ConnectionError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** The outcome of a call that failed. */
export type FailedOutcome = Extract<CallOutcome, { ok: false }>;

/** Logs an error of the owner's code, and returns an outcome with a reference to the log line and nothing else. */
export function failed(log: Log, what: string, fields: Record<string, unknown>): FailedOutcome {
  const reference = createReference();
  log.error(what, { reference, ...fields });
  return { ok: false, code: "function_failed", message: `The function failed. Reference: ${reference}` };
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
