import { isoTime, present } from "@patchbay/kit";
import type { CredentialKind, CredentialRight, ListedCredential, Store } from "@patchbay/engine/ports/store/stores";
import { AdminError, agentOf, found } from "./admin-error.ts";
import { makeSecret } from "./secret.ts";

const TOKEN_MS = 12 * 3_600_000;
const DAY_MS = 86_400_000;

export interface NewSecret {
  agentId: string;
  label?: string;
  roles?: readonly string[];
  /**
   * An API key's rights besides sending queries. `approve`: to read and decide approvals. `check`: to ask what a role
   * may call.
   */
  can?: readonly CredentialRight[];
  /** An API key's model for background tasks of OpenAI clients, besides `AGENT:titles`. */
  taskModel?: string;
  /** Without it, API and runtime keys never expire. Access tokens always expire after 12 hours. */
  expiresInDays?: number;
}

/** A new credential with its secret, which cannot be shown again. */
export interface Made {
  credentialId: string;
  agentId: string;
  secret: string;
  roles: string[] | null;
  can: CredentialRight[] | null;
  expiresAt: number | null;
}

/** Manages all credential kinds. Methods throw `AdminError`. */
export interface Credentials {
  create(kind: CredentialKind, wanted: NewSecret): Promise<Made>;
  /** Without the hashes of the secrets. */
  list(kind: CredentialKind, agentId: string): Promise<Omit<ListedCredential, "hash">[]>;
  /**
   * Creates a credential with the same kind, label, roles, rights and lifetime. The old one stays valid for
   * `overlapMs`, but no longer than it was; 0 revokes it.
   */
  rotate(
    kind: CredentialKind,
    credentialId: string,
    options: { overlapMs: number },
  ): Promise<Made & { oldEndsAt: number }>;
  /** Returns the credential's agent id. */
  revoke(kind: CredentialKind, credentialId: string): Promise<string>;
}

interface Words {
  prefix: string;
  what: string;
  command: string;
  action: string;
}

const WORDS: Record<CredentialKind, Words> = {
  api: { prefix: "key", what: "API key", command: "keys list --agent ID", action: "key" },
  runtime: { prefix: "rtk", what: "runtime key", command: "runtime-keys list --agent ID", action: "runtime_key" },
  access: { prefix: "tok", what: "access token", command: "tokens list --agent ID", action: "token" },
};

/** `by` is the id of the acting member or service token. Each change is written to the audit log. */
export function createCredentials(store: Store, by?: string): Credentials {
  const { accounts, audit } = store;

  /** An audit entry's author: the member, with the credential in the detail, or for commands the credential itself. */
  function about(credentialId: string, more: Record<string, string | number | string[]> = {}) {
    const detail = by === undefined ? more : { credentialId, ...more };
    return { keyId: by ?? credentialId, ...(Object.keys(detail).length > 0 && { detail }) };
  }

  function fresh(kind: CredentialKind) {
    const { secret, id: credentialId, hash, hint } = makeSecret(kind, WORDS[kind].prefix);
    return { secret, stored: { credentialId, hash, hint, ...present({ createdBy: by }) } };
  }

  /** Uses the store's clock, which later checks the expiry: the command's machine may have a different time. */
  async function endOf(kind: CredentialKind, days: number | undefined): Promise<number | undefined> {
    const lifeMs = kind === "access" ? TOKEN_MS : days === undefined ? undefined : days * DAY_MS;
    return lifeMs === undefined ? undefined : (await store.now()) + lifeMs;
  }

  return {
    async create(kind, { agentId, label, roles, can: rights, taskModel, expiresInDays }) {
      const can = rights && [...new Set(rights)];
      const pinned = roles && pinnedTo(roles);
      const { orgId } = await agentOf(accounts, agentId);
      const { secret, stored } = fresh(kind);
      const optional = present({ label, roles: pinned, can, taskModel, expiresAt: await endOf(kind, expiresInDays) });
      const expiresAt = await accounts.createCredential({ ...stored, ...optional, agentId, kind });
      const { credentialId } = stored;
      const action = `${WORDS[kind].action}.created`;
      await audit.record([
        { orgId, agentId, action, ...about(credentialId, present({ roles: pinned, can, taskModel })) },
      ]);
      return { credentialId, agentId, secret, roles: pinned ?? null, can: can ?? null, expiresAt };
    },

    async list(kind, agentId) {
      await agentOf(accounts, agentId);
      return (await accounts.listCredentials(kind, agentId)).map(({ hash: _hash, ...listed }) => listed);
    },

    async rotate(kind, credentialId, { overlapMs }) {
      const { what, command, action } = WORDS[kind];
      const { secret, stored } = fresh(kind);
      const rotated = found(
        await accounts.rotateCredential(kind, credentialId, stored, overlapMs),
        what,
        credentialId,
        command,
      );
      if (rotated.kind === "over") throw new AdminError(gone(what, credentialId));
      const { orgId, agentId, roles, can, expiresAt, oldEndsAt } = rotated;
      const detail = { replacedBy: stored.credentialId, overlapSeconds: Math.round(overlapMs / 1000) };
      await audit.record([{ orgId, agentId, action: `${action}.rotated`, ...about(credentialId, detail) }]);
      const { credentialId: id } = stored;
      const pins = { roles: roles ?? null, can: can ?? null };
      return { credentialId: id, agentId, secret, ...pins, expiresAt: expiresAt ?? null, oldEndsAt };
    },

    async revoke(kind, credentialId) {
      const { what, command, action } = WORDS[kind];
      const { orgId, agentId } = found(
        await accounts.revokeCredential(kind, credentialId),
        what,
        credentialId,
        command,
      );
      await audit.record([{ orgId, agentId, action: `${action}.revoked`, ...about(credentialId) }]);
      return agentId;
    },
  };
}

const gone = (what: string, id: string): string =>
  `The ${what} ${id} is revoked or expired and cannot be rotated. Create a new one.`;

function pinnedTo(roles: readonly string[]): string[] {
  if (roles.length === 0 || roles.some((role) => role.trim() === ""))
    throw new AdminError("A key with a role list needs at least one role, and roles must not be empty.");
  return [...new Set(roles)];
}

/** Creates credentials under their documented names; `Admin.credentials` lists, rotates and revokes them. */
export interface CredentialAdmin {
  /** Creates an API key, which sends queries. Without `roles` the key may use any role. */
  createKey(
    options: Omit<NewSecret, "expiresInDays">,
  ): Promise<{ keyId: string; agentId: string; apiKey: string; roles: string[] | null; can?: CredentialRight[] }>;
  /** Creates a runtime key, which connects functions. */
  createRuntimeKey(
    options: Pick<NewSecret, "agentId" | "label">,
  ): Promise<{ keyId: string; agentId: string; runtimeKey: string }>;
  /** Creates an access token for the local variant, valid for 12 hours. */
  createToken(
    options: Pick<NewSecret, "agentId" | "label">,
  ): Promise<{ tokenId: string; agentId: string; accessToken: string; expiresAt: string }>;
}

export function credentialAdmin({ create }: Credentials): CredentialAdmin {
  return {
    async createKey(options) {
      const { credentialId: keyId, agentId, secret: apiKey, roles, can } = await create("api", options);
      return { keyId, agentId, apiKey, roles, ...(can && { can }) };
    },

    async createRuntimeKey(options) {
      const { credentialId: keyId, agentId, secret: runtimeKey } = await create("runtime", options);
      return { keyId, agentId, runtimeKey };
    },

    async createToken(options) {
      // An access token always expires.
      const { credentialId: tokenId, agentId, secret: accessToken, expiresAt } = await create("access", options);
      return { tokenId, agentId, accessToken, expiresAt: isoTime(expiresAt ?? 0) };
    },
  };
}
