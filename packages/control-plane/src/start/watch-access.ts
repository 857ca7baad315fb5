import { type AccessWatch, createAccessWatch } from "@patchbay/engine/ports/access-watch";
import type { Log } from "@patchbay/kit";
import type { Store } from "@patchbay/engine/ports/store/stores";

/** When a key or session ends, its streams close within this time plus one store query. */
const ACCESS_CHECK_MS = 2_000;

/** Watches the keys, tokens and sessions of open connections and streams. Disposing ends the watch. */
export function watchAccess(
  { accounts, signIn, serviceTokens, clientTokens }: Store,
  log: Log,
): AccessWatch & Disposable {
  return createAccessWatch({
    valid: {
      credential: (ids) => accounts.validCredentials(ids),
      session: (ids) => signIn.validSessions(ids),
      serviceToken: (ids) => serviceTokens.valid(ids),
      clientToken: (ids) => clientTokens.valid(ids),
    },
    everyMs: ACCESS_CHECK_MS,
    log,
  });
}
