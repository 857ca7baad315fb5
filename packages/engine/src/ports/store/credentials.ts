/** `api` sends queries, `runtime` connects functions, `access` uses the local variant. They are not interchangeable. */
export type CredentialKind = "api" | "runtime" | "access";

/**
 * What an API key may do besides sending queries. `approve`: to read and decide approvals. `check`: to read a role's
 * functions and what their checks decide.
 */
export type CredentialRight = "approve" | "check";

/** A credential to store. */
export interface NewCredential {
  credentialId: string;
  /** `caller` has no secret: it stands for a proven caller without a key, and is valid while its agent allows those. */
  kind: CredentialKind | "caller";
  agentId: string;
  /** SHA-256 of the secret, or of the caller's agent and id, hex. The secret itself is never stored. */
  hash: string;
  /** First and last characters, by which people recognise a key. */
  hint: string;
  /** Roles that queries with this key may state; undefined for any role. */
  roles?: string[];
  /** Rights besides sending queries; undefined for none. */
  can?: CredentialRight[];
  /** The model that OpenAI clients with this key name for background tasks, besides `AGENT:titles`. */
  taskModel?: string;
  label?: string;
  expiresAt?: number;
  /** Id of the member or service token that created it; absent for a command. */
  createdBy?: string;
}

/** A stored credential. Times are milliseconds by the database's clock. */
export interface Credential extends NewCredential {
  orgId: string;
  tier: string;
  /** True if requests to its agent need a proven caller's token. */
  needsProof?: true;
  /** The claims of callers' tokens that the owner's code receives. */
  callerClaims?: readonly string[];
  createdAt: number;
  lastUsedAt?: number;
  revokedAt?: number;
  /** The first credential's id in its rotation lineage; absent for the first one itself. */
  lineage?: string;
}

/** A credential in a list. */
export interface ListedCredential extends Credential {
  /** Ids of the members and service tokens that made it or a predecessor, oldest first. Absent if none did. */
  makers?: string[];
}

/** A rotation's result. `over`: the old credential was revoked or expired, and nothing changed. */
export type RotatedCredential =
  | ({ kind: "rotated"; orgId: string; oldEndsAt: number } & Pick<
      NewCredential,
      "agentId" | "roles" | "can" | "expiresAt"
    >)
  | { kind: "over" };
