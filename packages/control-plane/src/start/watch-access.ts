import { type AccessWatch, createAccessWatch } from "../accounts/access-watch.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/stores.ts";

/** Streams whose key or session has ended are closed within this time and the time of one query to the store. */
const ACCESS_CHECK_MS = 2_000;

/** Watches what connections and streams were opened with. Disposing ends the watch. */
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
