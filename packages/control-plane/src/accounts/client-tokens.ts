import type { ClientToken, ClientTokenStore } from "../ports/client-tokens.ts";
import type { Credential } from "../ports/stores.ts";
import { generateSecret, hashSecret, isWellFormed, randomBase62 } from "./secret.ts";

/** Makes and authenticates client tokens. Nothing is cached between requests, so the end of a key takes effect immediately. */
export interface ClientTokens {
  create(
    token: Omit<ClientToken, "tokenId"> & { keyId: string; lifeMs: number },
  ): Promise<{ token: string; expiresAt: number }>;
  /** Undefined for a malformed, unknown or ended token. */
  authenticate(secret: string): Promise<{ token: ClientToken; key: Credential } | undefined>;
}

export function createClientTokens(store: ClientTokenStore<Credential>): ClientTokens {
  return {
    async create(token) {
      const secret = generateSecret("client");
      const stored = { ...token, tokenId: `clt_${randomBase62(22)}`, hash: hashSecret(secret) };
      return { token: secret, expiresAt: await store.create(stored) };
    },
    authenticate: async (secret) => (isWellFormed("client", secret) ? await store.find(hashSecret(secret)) : undefined),
  };
}
