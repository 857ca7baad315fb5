import { setTimeout as sleep } from "node:timers/promises";
import { StoreUnavailable, type RunStore } from "../ports/run-store.ts";
import type { Followed, RunHandle } from "./api.ts";
import type { Beat, Feed } from "./feed.ts";

/** Events of the log that are read at a time: a reader that stands still keeps them in memory, and each may be large. */
const PAGE = 16;
/** What a reader may lag behind before its inbox is emptied and it reads the log again. */
const INBOX_CHARS = 256 * 1024;
/** How often the log is looked at although nobody woke the reader. */
const QUIET_POLL_MS = 5_000;
const UNHEALTHY_POLL_MS = 500;
const STORE_RETRY_MS = 250;

const ends = (body: string): boolean =>
  body.startsWith('{"type":"finalResponse"') || body.startsWith('{"type":"error"');

/**
 * A run's log from after `after`, then live, to its last event; ends before that when the run was erased. Everything stored comes
 * from the log or is equal to it byte for byte. A slow reader costs no more memory than its inbox and a page of the log, and never
 * slows the run. While the store is out of reach the reader waits, as the run does.
 */
export async function* follow(
  run: Pick<RunHandle, "runId" | "agentId">,
  options: { after: number; deltas: boolean; signal: AbortSignal },
  deps: { runs: RunStore; feed: Feed },
): AsyncGenerator<Followed> {
  const { deltas, signal } = options;
  const inbox = createInbox(deltas);
  using _listening = deps.feed.listen(run.runId, inbox.receive);
  using _aborting = onAbort(signal, inbox.wake);
  let last = options.after;
  let behind = true;
  let quiet = false;

  while (!signal.aborted) {
    if (behind) {
      const page = await unlessOutOfReach(() => deps.runs.events(run.runId, last, PAGE));
      if (!page) {
        await sleep(STORE_RETRY_MS, undefined, { signal }).catch(() => {});
        continue;
      }
      for (const event of page) {
        last = event.seq;
        yield { id: event.seq, body: event.body };
        if (ends(event.body)) return;
      }
      behind = page.length === PAGE;
      if (behind) continue;
      if (quiet && page.length === 0 && (await nothingComes(run, last, deps.runs))) return;
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
    quiet = behind = await inbox.arrived(deps.feed.healthy ? QUIET_POLL_MS : UNHEALTHY_POLL_MS);
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

/** True of a run that was erased, and of one that ended at or before the event that the reader says it has. */
async function nothingComes(
  { runId, agentId }: Pick<RunHandle, "runId" | "agentId">,
  last: number,
  runs: RunStore,
): Promise<boolean> {
  const found = await unlessOutOfReach(async () => [await runs.get(agentId, runId)]);
  if (!found) return false;
  const [run] = found;
  return !run || (run.finishedAt !== undefined && run.lastSeq <= last);
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
