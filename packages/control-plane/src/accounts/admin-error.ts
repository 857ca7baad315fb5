import type { Fault } from "@patchbay/protocol";

/** A mistake of the user of a command or of the console. The message says how to correct it. */
export class AdminError extends Error {
  override readonly name = "AdminError";
  /**
   * `unknown`: the id does not exist. `conflict`: the present state does not allow the change. `model`: the organisation cannot
   * use the model. `value`: the value is invalid.
   */
  readonly reason: "unknown" | "conflict" | "model" | "value";
  /** The faults with their paths in the given values. */
  readonly details: readonly Fault[] | undefined;

  constructor(message: string, reason: AdminError["reason"] = "value", details?: readonly Fault[]) {
    super(message);
    this.reason = reason;
    this.details = details;
  }
}

/** Returns the value, or throws `AdminError` with the command that lists existing ids. */
export function found<T>(value: T | undefined, what: string, id: string, command: string): T {
  if (value !== undefined) return value;
  throw new AdminError(`There is no ${what} ${id}. Run "patchbay ${command}" to list them.`, "unknown");
}
