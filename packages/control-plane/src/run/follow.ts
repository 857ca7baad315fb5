import { setTimeout as sleep } from "node:timers/promises";
import { type RunHead, StoreUnavailable, type RunStore } from "../ports/run-store.ts";
import type { Followed, RunHandle } from "./api.ts";
import type { Beat, Feed } from "./feed.ts";
import type { joining } from "./either-signal.ts";
import { ends } from "./last-event.ts";
import type { Watch } from "./watch.ts";

/** Events of the log that are read at a time: a reader that stands still keeps them in memory, and each may be large. */
const PAGE = 4;
/** What a reader may lag behind before its inbox is emptied and it reads the log again. */
const INBOX_CHARS = 256 * 1024;
const STORE_RETRY_MS = 250;

/**
 * A run's log from after `after`, then live, to its last event; ends before that when the run was erased. Everything stored comes
 * from the log or is equal to it byte for byte. A slow reader costs no more memory than its inbox and a page of the log, and never
 * slows the run. While the store is out of reach the reader waits, as the run does.
 */
export async function* follow(
  run: Pick<RunHandle, "runId">,
  options: { after: number; deltas: boolean; signal: AbortSignal },
  deps: {
    runs: Pick<RunStore, "events">;
    feed: Feed;
    watch: Pick<Watch, "on">;
    /** Joins the reader's signal with that of a process which gives up following. */
    orDraining: ReturnType<typeof joining>;
  },
): AsyncGenerator<Followed> {
  const { deltas } = options;
  using over = deps.orDraining(options.signal);
  const { signal } = over;
  const inbox = createInbox(options.after);
  using _listening = deps.feed.listen(run.runId, inbox.receive, { live: deltas });
  using _watching = deps.watch.on(run.runId, inbox.look);
  using _aborting = onAbort(signal, inbox.wake);
  // The log of a run that was begun here just now is empty, and whatever is added to it comes into the inbox.
  let behind = options.after > 0 || deps.feed.lastTold(run.runId) !== 0;

  while (!signal.aborted) {
    if (behind) {
      const wasOver = inbox.over;
      const page = await unlessOutOfReach(() => deps.runs.events(run.runId, inbox.last, PAGE));
      if (!page) {
        await sleep(STORE_RETRY_MS, undefined, { signal }).catch(() => {});
        continue;
      }
      for (const event of page) {
        inbox.last = event.seq;
        yield { id: event.seq, body: event.body };
        if (ends(event.body)) return;
      }
      behind = page.length === PAGE;
      if (behind) continue;
      if (wasOver && page.length === 0) return;
    }
    for (const one of inbox.take()) {
      if (one.id === undefined) yield one;
      else if (one.id > inbox.last + 1) {
        behind = true;
        break;
      } else if (one.id === inbox.last + 1) {
        inbox.last = one.id;
        yield one;
        if (ends(one.body)) return;
      }
    }
    if (behind || signal.aborted) continue;
    behind = await inbox.arrived(signal);
  }
}

/** Undefined while the store is out of reach. */
async function unlessOutOfReach<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined;
    throw error;
  }
}

function createInbox(after: number) {
  let items: Followed[] = [];
  let chars = 0;
  let mustRead = false;
  let notify: (() => void) | undefined;

  function wake(): void {
    notify?.();
    notify = undefined;
  }
  function read(): void {
    mustRead = true;
    wake();
  }
  function put(item: Followed): void {
    items.push(item);
    chars += item.body.length;
    // One event may be larger: all readers of the process share its text, and each would read an own copy from the log.
    if (chars <= INBOX_CHARS || items.length === 1) return;
    items = [];
    chars = 0;
    mustRead = true;
  }

  const inbox = {
    /** Number of the last event the reader was given. */
    last: after,
    /** True of a run that ended or was erased: what the log does not hold by now will not come. */
    over: false,
    wake,
    receive(beat: Beat): void {
      if ("upTo" in beat) return beat.upTo > (items.at(-1)?.id ?? inbox.last) ? read() : undefined;
      if ("live" in beat) put({ body: beat.live });
      else for (const { seq, body } of beat.stored) put({ id: seq, body });
      wake();
    },
    look(head: RunHead | undefined): void {
      inbox.over = !head || head.ended;
      if (inbox.over || (head && head.lastSeq > inbox.last)) read();
    },
    take(): Followed[] {
      const taken = items;
      items = [];
      chars = 0;
      return taken;
    },
    /** Resolves when something came in or the reader stops; true when the log must be read. */
    async arrived(signal: AbortSignal): Promise<boolean> {
      if (items.length === 0 && !mustRead && !signal.aborted) await new Promise<void>((resolve) => (notify = resolve));
      const read = mustRead;
      mustRead = false;
      return read;
    },
  };
  return inbox;
}

function onAbort(signal: AbortSignal, wake: () => void): Disposable {
  signal.addEventListener("abort", wake);
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", wake) };
}
