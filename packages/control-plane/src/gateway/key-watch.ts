import { LINK_CLOSE } from "@patchbay/protocol";
import type { Log } from "../ports/log.ts";
import type { Link } from "./link.ts";
import type { Registry } from "./registry.ts";
import type { Authenticate } from "./upgrade.ts";

/** Looks the key of every open link up again and again: it may be revoked by another process, in the database alone. */
export function watchKeys(options: {
  registry: Registry;
  authenticate: Authenticate;
  everyMs: number;
  log: Log;
}): Disposable {
  const { registry, authenticate, everyMs, log } = options;
  let busy = false;

  async function check(): Promise<void> {
    const bySecret = new Map<string, Link[]>();
    for (const link of registry.all()) {
      const { secret } = link.identity;
      bySecret.set(secret, [...(bySecret.get(secret) ?? []), link]);
    }
    for (const [secret, links] of bySecret) {
      if (await authenticate(secret)) continue;
      for (const link of links) link.close(LINK_CLOSE.keyRevoked, "the runtime key was revoked");
    }
  }

  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    check()
      // A store that is out of reach revokes nothing.
      .catch((error: unknown) => log.warn("runtime keys could not be checked", { error }))
      .finally(() => (busy = false));
  }, everyMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
