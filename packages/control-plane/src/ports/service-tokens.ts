import type { ServiceScope } from "@patchbay/protocol/console";

/** A service token to store. */
export interface NewServiceToken {
  tokenId: string;
  orgId: string;
  /** SHA-256 of the secret, hex. The secret itself is never stored. */
  hash: string;
  hint: string;
  scopes: ServiceScope[];
  label?: string;
  /** Id of the member or service token that created it; absent for a command. */
  createdBy?: string;
  expiresAt?: number;
}

/** A stored service token. Times are milliseconds of the database's clock. */
export interface ServiceTokenRecord extends Omit<NewServiceToken, "hash"> {
  createdAt: number;
  lastUsedAt?: number;
  revokedAt?: number;
  state: "active" | "expired" | "revoked";
}

/** Service tokens of organisations. */
export interface ServiceTokenStore {
  create(token: NewServiceToken): Promise<void>;
  /** The active token with this hash, with the tier of its organisation. */
  find(hash: string): Promise<(ServiceTokenRecord & { tier: string }) | undefined>;
  get(orgId: string, tokenId: string): Promise<ServiceTokenRecord | undefined>;
  /** Newest first. Throws `invalid_request` for a cursor that no page returned. */
  list(
    orgId: string,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<{ items: ServiceTokenRecord[]; nextCursor: string | null }>;
  /**
   * Adds `fresh` with the scopes, label and lifetime of an active token, which ends after `overlapMs` or at its own expiry, whichever
   * is earlier; 0 revokes it. `fresh` ends at `expiresAt` at the latest. Undefined when the token is unknown or ended.
   */
  rotate(
    token: { orgId: string; tokenId: string },
    fresh: Pick<NewServiceToken, "tokenId" | "hash" | "hint" | "createdBy" | "expiresAt">,
    overlapMs: number,
  ): Promise<{ oldEndsAt: number } | undefined>;
  /** Also ends the unused links that the token made. False for an unknown token. */
  revoke(orgId: string, tokenId: string): Promise<boolean>;
  /** Returns the ids of the active tokens. */
  valid(tokenIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Stores the time of use, at most once a minute per token. */
  touch(tokenId: string): Promise<void>;
}
