import type { Credential, CredentialKind, Store } from "../ports/stores.ts";
import { AdminError, found } from "./admin-error.ts";
import { generateSecret, hashSecret, hintOf, randomBase62 } from "./secret.ts";

const TOKEN_MS = 12 * 3_600_000;
const DAY_MS = 86_400_000;

export interface NewSecret {
  agentId: string;
  label?: string;
  roles?: readonly string[];
  /** Without it API and runtime keys live until revoked; access tokens always live 12 hours. */
  expiresInDays?: number;
}

/** A credential just made, with the secret that is shown this once. */
export interface Made {
  credentialId: string;
  agentId: string;
  secret: string;
  roles: string[] | null;
  expiresAt: number | null;
}

/** What is done with credentials of any kind. Throws `AdminError`. */
export interface Credentials {
  create(kind: CredentialKind, wanted: NewSecret): Promise<Made>;
  list(kind: CredentialKind, agentId: string): Promise<Credential[]>;
  /**
   * A new secret of the same kind, label, roles and length of life. The old one opens things for `overlapMs` more, never for
   * longer than it would have; 0 revokes it.
   */
  rotate(
    kind: CredentialKind,
    credentialId: string,
    options: { overlapMs: number },
  ): Promise<Made & { oldEndsAt: number }>;
  /** Whose it was. */
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

/** `by` is the member in whose name it is done. Each change stands in the audit log. */
export function createCredentials(store: Store, by?: string): Credentials {
  const { accounts, audit } = store;
  const agentOf = async (agentId: string) => found(await accounts.getAgent(agentId), "agent", agentId, "agents list");

  /** Done by a member, it stands under the member's id, with the credential's beside it. */
  function about(credentialId: string, more: Record<string, string | number | string[]> = {}) {
    const detail = by === undefined ? more : { credentialId, ...more };
    return { keyId: by ?? credentialId, ...(Object.keys(detail).length > 0 && { detail }) };
  }

  function fresh(kind: CredentialKind) {
    const secret = generateSecret(kind);
    const credentialId = `${WORDS[kind].prefix}_${randomBase62(22)}`;
    return { secret, stored: { credentialId, hash: hashSecret(secret), hint: hintOf(kind, secret) } };
  }

  /** By the clock that will judge it: the command may run on another machine. */
  async function endOf(kind: CredentialKind, days: number | undefined): Promise<number | undefined> {
    const lifeMs = kind === "access" ? TOKEN_MS : days === undefined ? undefined : days * DAY_MS;
    return lifeMs === undefined ? undefined : (await store.now()) + lifeMs;
  }

  return {
    async create(kind, { agentId, label, roles, expiresInDays }) {
      const pinned = roles && pinnedTo(roles);
      const { orgId } = await agentOf(agentId);
      const { secret, stored } = fresh(kind);
      const expiresAt = await endOf(kind, expiresInDays);
      const optional = {
        ...(label !== undefined && { label }),
        ...(pinned && { roles: pinned }),
        ...(expiresAt !== undefined && { expiresAt }),
      };
      await accounts.createCredential({ ...stored, ...optional, agentId, kind });
      const { credentialId } = stored;
      const action = `${WORDS[kind].action}.created`;
      await audit.record([{ orgId, agentId, action, ...about(credentialId, pinned && { roles: pinned }) }]);
      return { credentialId, agentId, secret, roles: pinned ?? null, expiresAt: expiresAt ?? null };
    },

    async list(kind, agentId) {
      await agentOf(agentId);
      return accounts.listCredentials(kind, agentId);
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
      const { orgId, agentId, roles, expiresAt, oldEndsAt } = rotated;
      const detail = { replacedBy: stored.credentialId, overlapSeconds: Math.round(overlapMs / 1000) };
      await audit.record([{ orgId, agentId, action: `${action}.rotated`, ...about(credentialId, detail) }]);
      const { credentialId: id } = stored;
      return { credentialId: id, agentId, secret, roles: roles ?? null, expiresAt: expiresAt ?? null, oldEndsAt };
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
  `The ${what} ${id} is revoked or expired, so that there is nothing to go on from: make a new one.`;

function pinnedTo(roles: readonly string[]): string[] {
  if (roles.length === 0 || roles.some((role) => role.trim() === ""))
    throw new AdminError("A key pinned to roles needs one role at least, and none may be empty.");
  return [...new Set(roles)];
}
