import { type Log, silentLog } from "@patchbay/kit";
import type { Clock } from "@patchbay/engine/ports/clock";
import type { AccountStore, Credential, CredentialKind } from "@patchbay/engine/ports/store/stores";
import type { ServiceTokenStore } from "@patchbay/engine/ports/store/service-tokens";
import { hashSecret, isWellFormed } from "./secret.ts";

const TOUCH_MS = 60_000;

/** Resolves with a secret's credential; undefined for a malformed, unknown, revoked or expired secret. */
type Authenticate = (kind: CredentialKind, secret: string) => Promise<Credential | undefined>;

/** Authenticates secrets. Nothing is cached between requests, so a revocation takes effect immediately. */
export function createAuthenticator(deps: {
  accounts: Pick<AccountStore, "findCredential" | "touchCredential">;
  clock: Clock;
  log?: Log;
}): Authenticate {
  const { accounts } = deps;
  return async (kind, secret) => {
    if (!isWellFormed(kind, secret)) return undefined;
    const credential = await accounts.findCredential(kind, hashSecret(secret));
    return noteUse(credential, credential?.credentialId, deps, (id) => accounts.touchCredential(id));
  };
}

/** Resolves with a secret's service token; undefined if malformed, unknown, revoked or expired. Nothing is cached. */
export function createTokenCheck(deps: { serviceTokens: ServiceTokenStore; clock: Clock; log?: Log }) {
  const { serviceTokens } = deps;
  return async (secret: string) => {
    if (!isWellFormed("service", secret)) return undefined;
    const token = await serviceTokens.find(hashSecret(secret));
    return noteUse(token, token?.tokenId, deps, (id) => serviceTokens.touch(id));
  };
}

/** Stores the last use of what has the secret, at most once a minute. The request does not wait for it. */
export function noteUse<Holder extends { lastUsedAt?: number }>(
  holder: Holder | undefined,
  id: string | undefined,
  { clock, log = silentLog }: { clock: Clock; log?: Log },
  touch: (id: string) => Promise<unknown>,
): Holder | undefined {
  const usedAt = holder?.lastUsedAt ?? -Infinity;
  if (id !== undefined && Math.abs(clock.now() - usedAt) >= TOUCH_MS)
    touch(id).catch((cause: unknown) => log.warn("last use of a secret could not be stored", { id, cause }));
  return holder;
}
