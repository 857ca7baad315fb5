import type { Access, AccessWatch } from "./ports/access-watch.ts";
import type { Log } from "./ports/log.ts";

/** Which of these ids still open something. */
type Valid = (ids: readonly string[]) => Promise<ReadonlySet<string>>;

/**
 * Looks up every `everyMs` what is held open, in one statement for each kind: a credential or session may end by another
 * process, in the database only. Disposing stops it.
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
    held: new Map<string, Set<() => void>>(),
  }));
  let busy = false;

  async function look(): Promise<void> {
    for (const { check, held } of watches) {
      if (held.size === 0) continue;
      const asked = [...held.keys()];
      const stillValid = await check(asked);
      for (const id of asked) if (!stillValid.has(id)) for (const end of held.get(id) ?? []) end();
    }
  }

  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    look()
      // A store that is out of reach revokes nothing.
      .catch((error: unknown) => log.warn("credentials and sessions in use could not be checked", { error }))
      .finally(() => (busy = false));
  }, everyMs);

  return {
    hold({ kind, id }, end) {
      const held = watches.find((watch) => watch.kind === kind)?.held;
      if (!held) throw new Error(`nothing checks a ${kind}`);
      const ends = held.get(id) ?? new Set();
      held.set(id, ends.add(end));
      return {
        [Symbol.dispose]() {
          ends.delete(end);
          if (ends.size === 0 && held.get(id) === ends) held.delete(id);
        },
      };
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
