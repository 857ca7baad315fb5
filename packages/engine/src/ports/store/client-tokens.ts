import type { ClientDoor } from "@patchbay/protocol";
import type { JsonObject } from "@patchbay/kit";
import type { ProvenCaller } from "../callers.ts";

/** The right to query under one role and context, which a key's holder gives to a page. */
export interface ClientToken {
  tokenId: string;
  role: string;
  context: JsonObject;
  /** The adapters that it opens. */
  allow: readonly ClientDoor[];
  /** True if its queries may ask for the model's reasoning. */
  reasoning?: true;
  /** The only chat that it opens; undefined for all chats with its key, role and context. */
  threadKey?: string;
  /** The proven caller for whom it was made. */
  proven?: Pick<ProvenCaller, "subject" | "ids" | "issuer" | "claims">;
}

/** Client tokens. A token ends when it expires, and with the key that it was made with. */
export interface ClientTokenStore<Key> {
  /** `hash`: SHA-256 of the token, hex. Returns when it expires. */
  create(token: ClientToken & { keyId: string; hash: string; lifeMs: number }): Promise<number>;
  /** The valid token with this hash, and its key. */
  find(hash: string): Promise<{ token: ClientToken; key: Key } | undefined>;
  /** Returns the ids that belong to valid tokens. */
  valid(tokenIds: readonly string[]): Promise<ReadonlySet<string>>;
}
