import type { Credential } from "../ports/stores.ts";
import type { Credentials, Made } from "./credentials.ts";

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

/** Which credential was replaced, and until when it opens things. */
export interface Replaced {
  keyId: string;
  endsAt: string;
}

/** `overlapMs`: how long the old secret goes on working beside the new one; 0 revokes it at once. */
export interface RotationOptions {
  overlapMs: number;
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
  rotateKey(
    keyId: string,
    options: RotationOptions,
  ): Promise<{ keyId: string; agentId: string; apiKey: string; roles: string[] | null; replaced: Replaced }>;
  revokeKey(keyId: string): Promise<{ keyId: string; agentId: string }>;

  createRuntimeKey(options: {
    agentId: string;
    label?: string;
  }): Promise<{ keyId: string; agentId: string; runtimeKey: string }>;
  listRuntimeKeys(agentId: string): Promise<(ListedCredential & { keyId: string })[]>;
  rotateRuntimeKey(
    keyId: string,
    options: RotationOptions,
  ): Promise<{ keyId: string; agentId: string; runtimeKey: string; replaced: Replaced }>;
  revokeRuntimeKey(keyId: string): Promise<{ keyId: string; agentId: string }>;

  /** Opens the local variant for 12 hours. */
  createToken(options: {
    agentId: string;
    label?: string;
  }): Promise<{ tokenId: string; agentId: string; accessToken: string; expiresAt: string }>;
  listTokens(agentId: string): Promise<(ListedCredential & { tokenId: string })[]>;
  rotateToken(
    tokenId: string,
    options: RotationOptions,
  ): Promise<{
    tokenId: string;
    agentId: string;
    accessToken: string;
    expiresAt: string;
    replaced: { tokenId: string; endsAt: string };
  }>;
  revokeToken(tokenId: string): Promise<{ tokenId: string; agentId: string }>;
}

export function credentialAdmin({ create, list, rotate, revoke }: Credentials): CredentialAdmin {
  return {
    createKey: async (options) => apiKeyOf(await create("api", options)),
    async listKeys(agentId) {
      const keys = await list("api", agentId);
      return keys.map((key) => ({ keyId: key.credentialId, roles: key.roles ?? null, ...listed(key) }));
    },
    async rotateKey(keyId, options) {
      const made = await rotate("api", keyId, options);
      return { ...apiKeyOf(made), replaced: { keyId, endsAt: iso(made.oldEndsAt) } };
    },
    async revokeKey(keyId) {
      return { keyId, agentId: await revoke("api", keyId) };
    },

    createRuntimeKey: async (options) => runtimeKeyOf(await create("runtime", options)),
    async listRuntimeKeys(agentId) {
      const keys = await list("runtime", agentId);
      return keys.map((key) => ({ keyId: key.credentialId, ...listed(key) }));
    },
    async rotateRuntimeKey(keyId, options) {
      const made = await rotate("runtime", keyId, options);
      return { ...runtimeKeyOf(made), replaced: { keyId, endsAt: iso(made.oldEndsAt) } };
    },
    async revokeRuntimeKey(keyId) {
      return { keyId, agentId: await revoke("runtime", keyId) };
    },

    createToken: async (options) => tokenOf(await create("access", options)),
    async listTokens(agentId) {
      const tokens = await list("access", agentId);
      return tokens.map((token) => ({ tokenId: token.credentialId, ...listed(token) }));
    },
    async rotateToken(tokenId, options) {
      const made = await rotate("access", tokenId, options);
      return { ...tokenOf(made), replaced: { tokenId, endsAt: iso(made.oldEndsAt) } };
    },
    async revokeToken(tokenId) {
      return { tokenId, agentId: await revoke("access", tokenId) };
    },
  };
}

const apiKeyOf = ({ credentialId, agentId, secret, roles }: Made) => ({
  keyId: credentialId,
  agentId,
  apiKey: secret,
  roles,
});

const runtimeKeyOf = ({ credentialId, agentId, secret }: Made) => ({
  keyId: credentialId,
  agentId,
  runtimeKey: secret,
});

/** A token always has an end. */
const tokenOf = ({ credentialId, agentId, secret, expiresAt }: Made) => ({
  tokenId: credentialId,
  agentId,
  accessToken: secret,
  expiresAt: iso(expiresAt!),
});

function listed(credential: Credential): ListedCredential {
  const { agentId, hint, label, createdAt, lastUsedAt, expiresAt, revokedAt } = credential;
  return {
    agentId,
    hint,
    label: label ?? null,
    createdAt: iso(createdAt),
    lastUsedAt: isoOrNull(lastUsedAt),
    expiresAt: isoOrNull(expiresAt),
    revokedAt: isoOrNull(revokedAt),
  };
}

const iso = (timeMs: number): string => new Date(timeMs).toISOString();
const isoOrNull = (timeMs: number | undefined): string | null => (timeMs === undefined ? null : iso(timeMs));
