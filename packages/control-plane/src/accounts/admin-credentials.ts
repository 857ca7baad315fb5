import type { Credential, CredentialKind, Store } from "../ports/stores.ts";
import { AdminError, found } from "./admin-error.ts";
import { generateSecret, hashSecret, hintOf, randomBase62 } from "./secret.ts";

const TOKEN_MS = 12 * 3_600_000;

/** What is shown of a credential after it was made: never the secret. */
export interface ListedCredential {
  agentId: string;
  hint: string;
  label: string | null;
  createdAt: string;
  lastUsedAt: string | null;
  expiresAt: string | null;
  revokedAt: string | null;
}

/** API keys (queries), runtime keys (connect functions) and access tokens (the local variant). Secrets are shown once. */
export interface CredentialAdmin {
  /** Without `roles` the key may state any role. */
  createKey(options: {
    agentId: string;
    roles?: readonly string[];
    label?: string;
  }): Promise<{ keyId: string; agentId: string; apiKey: string; roles: string[] | null }>;
  listKeys(agentId: string): Promise<(ListedCredential & { keyId: string; roles: string[] | null })[]>;
  revokeKey(keyId: string): Promise<{ keyId: string; agentId: string }>;

  createRuntimeKey(options: {
    agentId: string;
    label?: string;
  }): Promise<{ keyId: string; agentId: string; runtimeKey: string }>;
  listRuntimeKeys(agentId: string): Promise<(ListedCredential & { keyId: string })[]>;
  revokeRuntimeKey(keyId: string): Promise<{ keyId: string; agentId: string }>;

  /** Opens the local variant for 12 hours. */
  createToken(options: {
    agentId: string;
    label?: string;
  }): Promise<{ tokenId: string; agentId: string; accessToken: string; expiresAt: string }>;
  listTokens(agentId: string): Promise<(ListedCredential & { tokenId: string })[]>;
  revokeToken(tokenId: string): Promise<{ tokenId: string; agentId: string }>;
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

export function credentialAdmin(store: Store): CredentialAdmin {
  const { create, list, revoke } = operations(store);
  return {
    async createKey({ roles, ...options }) {
      if (roles?.length === 0 || roles?.some((role) => role.trim() === ""))
        throw new AdminError("A key pinned to roles needs one role at least, and none may be empty.");
      const pinned = roles && [...new Set(roles)];
      const { id, secret } = await create("api", { ...options, ...(pinned && { roles: pinned }) });
      return { keyId: id, agentId: options.agentId, apiKey: secret, roles: pinned ?? null };
    },
    async listKeys(agentId) {
      const keys = await list("api", agentId);
      return keys.map((key) => ({ keyId: key.credentialId, roles: key.roles ?? null, ...listed(key) }));
    },
    async revokeKey(keyId) {
      return { keyId, agentId: await revoke("api", keyId) };
    },

    async createRuntimeKey(options) {
      const { id, secret } = await create("runtime", options);
      return { keyId: id, agentId: options.agentId, runtimeKey: secret };
    },
    async listRuntimeKeys(agentId) {
      const keys = await list("runtime", agentId);
      return keys.map((key) => ({ keyId: key.credentialId, ...listed(key) }));
    },
    async revokeRuntimeKey(keyId) {
      return { keyId, agentId: await revoke("runtime", keyId) };
    },

    async createToken(options) {
      // By the clock that will judge it: the command may run on another machine.
      const expiresAt = (await store.now()) + TOKEN_MS;
      const { id, secret } = await create("access", { ...options, expiresAt });
      return {
        tokenId: id,
        agentId: options.agentId,
        accessToken: secret,
        expiresAt: new Date(expiresAt).toISOString(),
      };
    },
    async listTokens(agentId) {
      const tokens = await list("access", agentId);
      return tokens.map((token) => ({ tokenId: token.credentialId, ...listed(token) }));
    },
    async revokeToken(tokenId) {
      return { tokenId, agentId: await revoke("access", tokenId) };
    },
  };
}

interface NewSecret {
  agentId: string;
  label?: string;
  roles?: string[];
  expiresAt?: number;
}

function operations({ accounts, audit }: Store) {
  const agentOf = async (agentId: string) => found(await accounts.getAgent(agentId), "agent", agentId, "agents list");
  return {
    async create(kind: CredentialKind, options: NewSecret): Promise<{ id: string; secret: string }> {
      const { orgId, agentId } = await agentOf(options.agentId);
      const { prefix, action } = WORDS[kind];
      const secret = generateSecret(kind);
      const id = `${prefix}_${randomBase62(22)}`;
      const stored = { hash: hashSecret(secret), hint: hintOf(kind, secret) };
      await accounts.createCredential({ ...options, ...stored, credentialId: id, kind });
      await audit.record([{ orgId, agentId, keyId: id, action: `${action}.created`, ...pinnedTo(options.roles) }]);
      return { id, secret };
    },
    async list(kind: CredentialKind, agentId: string): Promise<Credential[]> {
      await agentOf(agentId);
      return accounts.listCredentials(kind, agentId);
    },
    async revoke(kind: CredentialKind, id: string): Promise<string> {
      const { what, command, action } = WORDS[kind];
      const { orgId, agentId } = found(await accounts.revokeCredential(kind, id), what, id, command);
      await audit.record([{ orgId, agentId, keyId: id, action: `${action}.revoked` }]);
      return agentId;
    },
  };
}

const pinnedTo = (roles: string[] | undefined) => (roles ? { detail: { roles } } : {});

function listed(credential: Credential): ListedCredential {
  const { agentId, hint, label, createdAt, lastUsedAt, expiresAt, revokedAt } = credential;
  return {
    agentId,
    hint,
    label: label ?? null,
    createdAt: new Date(createdAt).toISOString(),
    lastUsedAt: isoOrNull(lastUsedAt),
    expiresAt: isoOrNull(expiresAt),
    revokedAt: isoOrNull(revokedAt),
  };
}

function isoOrNull(timeMs: number | undefined): string | null {
  return timeMs === undefined ? null : new Date(timeMs).toISOString();
}
