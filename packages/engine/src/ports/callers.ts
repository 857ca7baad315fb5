import { type JsonObject, present } from "@patchbay/kit";
import type { CallerIdentity } from "@patchbay/protocol";

/** For whom a query is made. */
export interface Caller {
  role?: string;
  context: JsonObject;
  /** What a token proved. */
  caller?: CallerIdentity;
}

export const callerOf = ({ role, context, caller }: Caller): Caller => ({ context, ...present({ role, caller }) });

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

/** A verified token. `expiresAt`: milliseconds, as it says. */
export interface CallerToken {
  value: string;
  expiresAt: number;
}

/** What a caller's token proved. */
export interface ProvenCaller {
  /** The token's `sub`. It is unique only within its issuer. */
  subject: string;
  /** See `callerIdsOf`. */
  ids: CallerIds;
  /** The token's `iss`; absent for client tokens from earlier versions. */
  issuer?: string;
  /** Its claims: all, and once the agent is known, those that it lists. */
  claims?: JsonObject;
  /** The token itself, for handlers that act as the caller; it is never stored or sent to another replica. */
  token?: CallerToken;
  /** The roles from its role claim, empty without the claim; undefined if the server reads no roles from tokens. */
  roles?: readonly string[];
  /** The context members that its claims state. */
  context: JsonObject;
  /** Context members that only claims can state, also those that this token lacks. */
  members: readonly string[];
}

/** What the owner's code learns about a proven caller. */
export const identityOf = ({ subject, issuer, claims = {} }: ProvenCaller): CallerIdentity | undefined =>
  issuer === undefined ? undefined : { subject, issuer, claims };

/** The caller with those of its claims that the agent lists. */
export const withListedClaims = (
  { claims = {}, ...caller }: ProvenCaller,
  listed: readonly string[] = [],
): ProvenCaller => ({
  ...caller,
  claims: Object.fromEntries(Object.entries(claims).filter(([name]) => listed.includes(name))),
});
