import type { Followed } from "./api.ts";
import type { Beat, Feed } from "./feed.ts";
import type { RunStore } from "../ports/run-store.ts";

const PAGE = 200;
/** What a reader may lag behind before its inbox is emptied and it reads the log again. */
const INBOX_CHARS = 256 * 1024;
/** How often the log is looked at although nobody woke the reader. */
const QUIET_POLL_MS = 5_000;
const UNHEALTHY_POLL_MS = 500;

const ends = (body: string): boolean =>
  body.startsWith('{"type":"finalResponse"') || body.startsWith('{"type":"error"');

/**
 * A run's log from after `after`, then live. Everything stored comes from the log or is equal to it byte for byte; a slow reader
 * costs no more memory than its inbox and never slows the run.
 */
export async function* follow(
  runId: string,
  options: { after: number; deltas: boolean; signal: AbortSignal },
  deps: { runs: RunStore; feed: Feed },
): AsyncGenerator<Followed> {
  const { deltas, signal } = options;
  const inbox = createInbox(deltas);
  using _listening = deps.feed.listen(runId, inbox.receive);
  using _aborting = onAbort(signal, inbox.wake);
  let last = options.after;
  let behind = true;

  while (!signal.aborted) {
    if (behind) {
      const page = await deps.runs.events(runId, last, PAGE);
      for (const event of page) {
        last = event.seq;
        yield { id: event.seq, body: event.body };
        if (ends(event.body)) return;
      }
      behind = page.length === PAGE;
      if (behind) continue;
    }
    for (const one of inbox.take()) {
      if (one.id === undefined) yield one;
      else if (one.id > last + 1) {
        behind = true;
        break;
      } else if (one.id === last + 1) {
        last = one.id;
        yield one;
        if (ends(one.body)) return;
      }
    }
    if (behind || signal.aborted) continue;
    behind = await inbox.arrived(deps.feed.healthy ? QUIET_POLL_MS : UNHEALTHY_POLL_MS);
  }
}

function createInbox(deltas: boolean) {
  let items: Followed[] = [];
  let chars = 0;
  let overflowed = false;
  let notify: (() => void) | undefined;

  function wake(): void {
    notify?.();
    notify = undefined;
  }
  function put(item: Followed): void {
    items.push(item);
    chars += item.body.length;
    if (chars <= INBOX_CHARS) return;
    items = [];
    chars = 0;
    overflowed = true;
  }

  return {
    wake,
    receive(beat: Beat): void {
      if ("live" in beat) {
        if (!deltas) return;
        put({ body: beat.live });
      } else for (const { seq, body } of beat.stored) put({ id: seq, body });
      wake();
    },
    take(): Followed[] {
      const taken = items;
      items = [];
      chars = 0;
      return taken;
    },
    /** Resolves when something came in; true when the log must be read because something was dropped or nothing came for long. */
    async arrived(withinMs: number): Promise<boolean> {
      if (items.length === 0 && !overflowed) {
        const { promise, resolve } = Promise.withResolvers<void>();
        notify = resolve;
        const timer = setTimeout(resolve, withinMs);
        await promise;
        clearTimeout(timer);
        notify = undefined;
      }
      const mustRead = overflowed || items.length === 0;
      overflowed = false;
      return mustRead;
    },
  };
}

function onAbort(signal: AbortSignal, wake: () => void): Disposable {
  signal.addEventListener("abort", wake);
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", wake) };
}
