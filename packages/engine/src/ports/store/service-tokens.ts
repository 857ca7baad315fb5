import type { ServiceScope } from "@patchbay/protocol/console";
import type { Page, PageAsked } from "./page.ts";

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

/** A stored service token. Times are milliseconds by the database's clock. */
export interface ServiceTokenRecord extends Omit<NewServiceToken, "hash"> {
  createdAt: number;
  lastUsedAt?: number;
  revokedAt?: number;
  state: "active" | "expired" | "revoked";
}

/** The organisations' service tokens. */
export interface ServiceTokenStore {
  /** It ends with the service token that made it, at the latest. */
  create(token: NewServiceToken): Promise<void>;
  /** The active token with this hash, with its organisation's tier. */
  find(hash: string): Promise<(ServiceTokenRecord & { tier: string }) | undefined>;
  get(orgId: string, tokenId: string): Promise<ServiceTokenRecord | undefined>;
  /** Newest first. Throws `invalid_request` for a cursor that no page returned. */
  list(orgId: string, page: PageAsked): Promise<Page<ServiceTokenRecord>>;
  /**
   * Adds `fresh` with an active token's scopes, label and lifetime. The old one ends after `overlapMs` or at its own
   * expiry, whichever is earlier; 0 revokes it. Both end with the service token that rotates, at the latest. Undefined
   * when the token is unknown or ended.
   */
  rotate(
    token: { orgId: string; tokenId: string },
    fresh: Pick<NewServiceToken, "tokenId" | "hash" | "hint" | "createdBy">,
    overlapMs: number,
  ): Promise<{ oldEndsAt: number } | undefined>;
  /** Also ends the unused links that the token made. False for an unknown token. */
  revoke(orgId: string, tokenId: string): Promise<boolean>;
  /** Returns the ids that belong to active tokens. */
  valid(tokenIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Stores the last use, at most once a minute per token. */
  touch(tokenId: string): Promise<void>;
}
