import type { Fault } from "@patchbay/protocol";
import type { Agent, Org, Store } from "@patchbay/engine/ports/store/stores";

/** A user's mistake in a command or the console. The message says how to correct it. */
export class AdminError extends Error {
  override readonly name = "AdminError";
  /**
   * `unknown`: the id does not exist. `conflict`: the current state does not allow the change. `model`: the
   * organisation cannot use the model. `value`: the value is invalid.
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

type Accounts = Pick<Store["accounts"], "getAgent" | "getOrg">;

export const agentOf = async (accounts: Accounts, agentId: string): Promise<Agent> =>
  found(await accounts.getAgent(agentId), "agent", agentId, "agents list");

export const orgOf = async (accounts: Accounts, orgId: string): Promise<Org> =>
  found(await accounts.getOrg(orgId), "organisation", orgId, "orgs list");
