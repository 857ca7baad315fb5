import { clearTimer, setInterval } from "@patchbay/kit/time";
import { createKeyedSets } from "./by-key.ts";
import type { Log } from "./log.ts";

/** The credential, session or token that opened a connection or stream. */
export type Access = { kind: "credential" | "session" | "serviceToken" | "clientToken"; id: string };

/** Closes connections and streams after their credential, session or token has ended. */
export interface AccessWatch {
  /**
   * Until disposed, calls `end` within a few seconds when the credential or token is revoked or expires, its agent is
   * deleted, or the session ends. While the store is unavailable, nothing is closed.
   */
  hold(access: Access, end: () => void): Disposable;
}

/** Returns the ids that are still valid. */
type Valid = (ids: readonly string[]) => Promise<ReadonlySet<string>>;

/**
 * Checks all watched credentials and sessions every `everyMs`, with one query per kind: another process may have ended
 * them, which shows only in the database. Disposing stops the checks.
 */
export function createAccessWatch(options: {
  valid: Partial<Record<Access["kind"], Valid>>;
  everyMs: number;
  log: Log;
}): AccessWatch & Disposable {
  const { valid, everyMs, log } = options;
  const watches = Object.entries(valid).map(([kind, check]) => ({
    kind,
    check,
    held: createKeyedSets<() => void>(),
  }));
  let busy = false;

  async function look(): Promise<void> {
    for (const { check, held } of watches) {
      const asked = held.keys();
      if (asked.length === 0) continue;
      const stillValid = await check(asked);
      for (const id of asked) if (!stillValid.has(id)) for (const end of held.of(id)) end();
    }
  }

  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    look()
      // An unavailable store says nothing about validity: closing all streams now would turn its outage into theirs.
      .catch((error: unknown) => log.warn("credentials and sessions in use could not be checked", { error }))
      .finally(() => (busy = false));
  }, everyMs);

  return {
    hold({ kind, id }, end) {
      const held = watches.find((watch) => watch.kind === kind)?.held;
      if (!held) throw new Error(`a ${kind} cannot be watched`);
      return held.add(id, end);
    },
    [Symbol.dispose]: () => clearTimer(timer),
  };
}
