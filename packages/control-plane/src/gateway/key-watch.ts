import { LINK_CLOSE } from "@patchbay/protocol";
import type { Log } from "../ports/log.ts";
import type { Registry } from "./registry.ts";

/** Which of these keys still open a link. */
export type ValidKeys = (keyIds: readonly string[]) => Promise<ReadonlySet<string>>;

/** Looks the keys of all open links up again and again: one may be revoked by another process, in the database alone. */
export function watchKeys(options: {
  registry: Registry;
  validKeys: ValidKeys;
  everyMs: number;
  log: Log;
}): Disposable {
  const { registry, validKeys, everyMs, log } = options;
  let busy = false;

  async function check(): Promise<void> {
    const links = registry.all();
    if (links.length === 0) return;
    const valid = await validKeys([...new Set(links.map(({ identity }) => identity.keyId))]);
    for (const link of links)
      if (!valid.has(link.identity.keyId)) link.close(LINK_CLOSE.keyRevoked, "the runtime key was revoked");
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
