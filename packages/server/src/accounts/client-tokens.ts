import type { ClientToken, ClientTokenStore } from "@patchbay/engine/ports/store/client-tokens";
import type { Credential } from "@patchbay/engine/ports/store/stores";
import type { ClientDoor } from "@patchbay/protocol";
import { standardError } from "@patchbay/engine/ports/service-error";
import { hashSecret, isWellFormed, makeSecret } from "./secret.ts";

type NewClientToken = Omit<ClientToken, "tokenId"> & { keyId: string; lifeMs: number };

/** Creates and authenticates client tokens. Nothing is cached, so an ended key takes effect immediately. */
export function createClientTokens(store: ClientTokenStore<Credential>) {
  return {
    async create(token: NewClientToken): Promise<{ token: string; expiresAt: number }> {
      const { secret, id: tokenId, hash } = makeSecret("client", "clt");
      return { token: secret, expiresAt: await store.create({ ...token, tokenId, hash }) };
    },
    /** Undefined for a malformed, unknown or ended token. */
    authenticate: async (secret: string): Promise<{ token: ClientToken; key: Credential } | undefined> =>
      isWellFormed("client", secret) ? await store.find(hashSecret(secret)) : undefined,
  };
}
export type ClientTokens = ReturnType<typeof createClientTokens>;

/** Maximum characters of a secret that is looked up. */
export const LONGEST_SECRET = 200;

/** A page's client token, and the key that created it. */
export type Page = NonNullable<Awaited<ReturnType<ClientTokens["authenticate"]>>>;

/** The page with this client token, if any. Throws `authentication_failed` if the token does not allow the adapter. */
export async function pageWith(
  secret: string | undefined,
  adapter: ClientDoor,
  clientTokens: ClientTokens,
): Promise<Page | undefined> {
  if (secret === undefined || secret.length > LONGEST_SECRET) return undefined;
  const page = await clientTokens.authenticate(secret);
  if (!page || page.token.allow.includes(adapter)) return page;
  throw standardError(
    "authentication_failed",
    `this client token allows ${page.token.allow.join(" and ")} only. Make one with "${adapter}" in "allow".`,
  );
}
