import type { Widening } from "@patchbay/access";
import type { DeployedSet, Store } from "@patchbay/engine/ports/store/stores";
import type { AccountContext } from "./admin-accounts.ts";
import { AdminError, agentOf } from "./admin-error.ts";

/** A deployment's function set, after its confirmation. */
export interface AcceptedSet {
  agentId: string;
  manifestHash: string;
  service: string;
  deployment: string;
  /** Rights that this set gives and the previous set did not. */
  widenings: Widening[];
}

/** Confirms function sets that widen access. */
export interface AccessAdmin {
  /**
   * Confirms a function set for all deployments that wait with it, and returns the newest of them. `set` is its hash or
   * at least its first 8 characters. A deployment that connects later waits again if it widens access.
   */
  acceptAccess(agentId: string, set: string): Promise<AcceptedSet>;
}

/** `confirmedBy` for a set that a command confirmed. */
export const OPERATOR = "operator";

const PREFIX_UNITS = 8;
/** Maximum waiting sets that an error lists. */
const LISTED = 5;

export function accessAdmin(
  { accounts, runtimes, audit }: Store,
  { by, agentChanged }: Pick<AccountContext, "agentChanged"> & { by: string | undefined },
): AccessAdmin {
  return {
    async acceptAccess(agentId, set) {
      const { orgId } = await agentOf(accounts, agentId);
      const { manifestHash, service, deployment, widenings } = waitingSet(await runtimes.functionSets(agentId), set);
      if (!(await runtimes.confirmSet(agentId, manifestHash, { by: by ?? OPERATOR })))
        throw new AdminError(`Function set ${manifestHash} was confirmed a moment ago.`, "conflict");
      agentChanged?.(agentId);
      const detail = { service, deployment, count: widenings.length };
      const who = by === undefined ? {} : { keyId: by };
      await audit.record([{ orgId, agentId, action: "access.confirmed", manifestHash, detail, ...who }]);
      return { agentId, manifestHash, service, deployment, widenings };
    },
  };
}

/** The newest waiting deployment whose set's hash starts with `asked`. */
function waitingSet(sets: readonly DeployedSet[], asked: string): DeployedSet {
  const meant = sets.filter(({ manifestHash }) => manifestHash.startsWith(asked));
  if (asked.length < PREFIX_UNITS && !meant.some(({ manifestHash }) => manifestHash === asked))
    throw new AdminError(`"${asked}" is too short. Give at least ${PREFIX_UNITS} characters of the set's hash.`);
  const hashes = [...new Set(meant.map(({ manifestHash }) => manifestHash))];
  if (hashes.length > 1)
    throw new AdminError(
      `${hashes.length} function sets begin with ${asked}: ${hashes.join(", ")}. Give more characters.`,
    );
  const waiting = meant
    .filter(({ confirmation }) => confirmation === "pending")
    .toSorted(bySeen)
    .at(-1);
  if (waiting) return waiting;
  const state =
    hashes.length === 0 ? "This agent has no such function set" : "This function set is not waiting for a confirmation";
  throw new AdminError(`${state}. ${listWaiting(sets)}`, hashes.length === 0 ? "value" : "conflict");
}

const bySeen = (a: DeployedSet, b: DeployedSet): number => a.firstSeenAt - b.firstSeenAt || a.position - b.position;

function listWaiting(sets: readonly DeployedSet[]): string {
  const waiting = sets.filter(({ confirmation }) => confirmation === "pending");
  if (waiting.length === 0) return "No function set of the agent is waiting for a confirmation.";
  const shown = waiting
    .slice(-LISTED)
    .map((set) => `${set.manifestHash} (deployment ${set.deployment} of ${set.service})`);
  return `Waiting: ${shown.join(", ")}.`;
}
