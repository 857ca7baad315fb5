import type { JsonObject } from "@patchbay/kit";

/** A proven caller's ids in the store. */
export type CallerIds = readonly [string, ...string[]];

/**
 * A proven caller's ids. The first, from issuer and `sub`, is stored with new runs. The second, from `sub` only, finds
 * runs from before issuers were stored; they belong to the `sub` at the only issuer that a server trusts. Without an
 * issuer: only the second.
 */
export function callerIdsOf({ issuer, subject }: { issuer?: string; subject: string }): CallerIds {
  const former = JSON.stringify([null, subject]);
  return issuer === undefined ? [former] : [JSON.stringify([issuer, subject]), former];
}

/** Which runs a reader may see; an undefined member limits nothing. */
export interface VisibleTo {
  /** Runs with these roles, and runs without a role. */
  roles?: readonly string[] | undefined;
  /** Runs and threads that belong to the proven caller with these ids. */
  callers?: CallerIds | undefined;
}

/** What a caller's token proved. */
export interface ProvenCaller {
  /** The token's `sub`. It is unique only within its issuer. */
  subject: string;
  /** See `callerIdsOf`. */
  ids: CallerIds;
  /** The roles from its role claim, empty without the claim; undefined if the server reads no roles from tokens. */
  roles?: readonly string[];
  /** The context members that its claims state. */
  context: JsonObject;
  /** Context members that only claims can state, also those that this token lacks. */
  members: readonly string[];
}
