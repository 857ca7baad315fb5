import type { Fault } from "@patchbay/protocol";

/** What the person at the command did wrong; the message says how to mend it. */
export class AdminError extends Error {
  override readonly name = "AdminError";
  /**
   * `unknown`: there is no such thing. `conflict`: it does not go with what is there. `model`: the organisation cannot use the
   * model. Else the value cannot be.
   */
  readonly reason: "unknown" | "conflict" | "model" | "value";
  /** Where in the values the faults are. */
  readonly details: readonly Fault[] | undefined;

  constructor(message: string, reason: AdminError["reason"] = "value", details?: readonly Fault[]) {
    super(message);
    this.reason = reason;
    this.details = details;
  }
}

/** The value, or an error that tells where ids of its kind are listed. */
export function found<T>(value: T | undefined, what: string, id: string, command: string): T {
  if (value !== undefined) return value;
  throw new AdminError(`There is no ${what} ${id}. "patchbay ${command}" shows those there are.`, "unknown");
}
