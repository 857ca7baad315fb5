import { type Log, silentLog } from "../ports/log.ts";
import type { Clock } from "../ports/clock.ts";
import type { AccountStore, Credential, CredentialKind } from "../ports/stores.ts";
import { hashSecret, isWellFormed } from "./secret.ts";

const TOUCH_MS = 60_000;

/** Resolves with the credential of a secret; undefined for a malformed, unknown, revoked or expired one. */
type Authenticate = (kind: CredentialKind, secret: string) => Promise<Credential | undefined>;

/** Authenticates secrets. Nothing is cached between requests, so a revocation takes effect immediately. */
export function createAuthenticator(deps: {
  accounts: Pick<AccountStore, "findCredential" | "touchCredential">;
  clock: Clock;
  log?: Log;
}): Authenticate {
  const { accounts, clock, log = silentLog } = deps;

  function touch({ credentialId, lastUsedAt }: Credential): void {
    if (lastUsedAt !== undefined && Math.abs(clock.now() - lastUsedAt) < TOUCH_MS) return;
    accounts.touchCredential(credentialId).catch((cause: unknown) => {
      log.warn("last use of a credential could not be stored", { credentialId, cause });
    });
  }

  return async (kind, secret) => {
    if (!isWellFormed(kind, secret)) return undefined;
    const credential = await accounts.findCredential(kind, hashSecret(secret));
    if (credential) touch(credential);
    return credential;
  };
}
