import { monotonicMs, sleep } from "@patchbay/kit/time";
import { AsyncLocalStorage } from "node:async_hooks";
import { addAbortListener } from "node:events";
import type { Clock } from "../../ports/clock.ts";
import { createKeyedSets } from "../../ports/by-key.ts";
import type { Log } from "@patchbay/kit";
import { ends, type RunHead, type RunStore, StoreUnavailable } from "../../ports/store/run-store.ts";
import type { Followed, RunHandle } from "../api.ts";
import type { Feed, FeedMessage } from "./feed.ts";

/** Events that are read from the log at a time. A reader that stops reading keeps them in memory, and each may be large. */
const PAGE = 4;
/** A reader that lags further behind than this loses its inbox and reads the log again. */
const INBOX_CHARS = 256 * 1024;
const STORE_RETRY_MS = 250;

/** What following a run requires. */
export interface FollowContext {
  runs: Pick<RunStore, "events" | "heads">;
  feed: Feed;
  poller: Pick<ReturnType<typeof createLogPoller>, "add">;
  /** Joins a reader's signal with the one that aborts when the process stops. */
  orDraining: ReturnType<typeof joining>;
}

interface FollowOptions {
  after: number;
  deltas: boolean;
  /** Whether a reader without deltas gets live events that say why the model delays. Default: as `deltas`. */
  statuses?: boolean;
  signal: AbortSignal;
  pauses?: Pauses | undefined;
}

/** What a waiting run must wait for so that a reader's iteration ends. */
export type Pauses = "any" | "approval";

/**
 * A run's log after event `after`, then live, up to its last event. Ends earlier when the run was erased. Stored events
 * are equal to the log byte for byte. `pauses`: ends also when the run waits. A slow reader costs no
 * more memory than its inbox and one log page, and never slows the run. While the store is unavailable the reader
 * waits.
 */
export function follow(
  run: Pick<RunHandle, "runId">,
  options: FollowOptions,
  context: FollowContext,
): AsyncGenerator<readonly Followed[]> {
  return inCallerContext(readLog(run, options, context));
}

/**
 * Runs each step of `items` in this call's async context. The HTTP server reads a stream after the request's handler
 * has returned: otherwise, its store reads would run outside the organisation's database scope.
 */
function inCallerContext<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  const inContext = AsyncLocalStorage.snapshot();
  return {
    next: () => inContext(() => items.next()),
    return: (value) => inContext(() => items.return(value)),
    throw: (error) => inContext(() => items.throw(error)),
    async [Symbol.asyncDispose]() {
      await items.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* readLog(
  { runId }: Pick<RunHandle, "runId">,
  { after, deltas, statuses = deltas, signal: reader, pauses }: FollowOptions,
  { runs, feed, poller, orDraining }: FollowContext,
): AsyncGenerator<readonly Followed[]> {
  using joined = orDraining(reader);
  const { signal } = joined;
  const inbox = createInbox(after, { pauses: pauses !== undefined, statuses });
  // Subscribe before reading: an event that is stored between the two would otherwise be missed.
  using _subscription = feed.subscribe(runId, inbox.receive, { live: deltas });
  using _polling = poller.add(runId, inbox.check);
  using _aborting = addAbortListener(signal, inbox.notify);
  // A run that has just begun here has an empty log, and all its events will arrive in the inbox.
  let behind = after > 0 || feed.lastPublished(runId) !== 0;
  // Asked for its state only if it may wait: not a run that has just begun.
  inbox.mayWait = behind;

  while (!signal.aborted) {
    if (behind) {
      const hasEnded = inbox.hasEnded;
      const page = await unlessUnavailable(() => runs.events(runId, inbox.last, PAGE));
      if (!page) {
        await sleep(STORE_RETRY_MS, { signal }).catch(() => {});
        continue;
      }
      const last = page.at(-1);
      if (last) {
        inbox.last = last.seq;
        yield page.map(({ seq, body }) => ({ id: seq, body }));
        if (ends(last.body)) return;
      }
      behind = page.length === PAGE;
      if (behind) continue;
      if (hasEnded && page.length === 0) return;
    }
    const next: Followed[] = [];
    let ended = false;
    for (const one of inbox.take()) {
      if (one.id !== undefined) {
        if (one.id <= inbox.last) continue;
        // The bus lost an event: the log has it.
        behind = one.id > inbox.last + 1;
        if (behind) break;
        inbox.last = one.id;
        ended = ends(one.body);
      }
      next.push(one);
      if (ended) break;
    }
    if (next.length > 0) yield next;
    if (ended) return;
    if (behind || signal.aborted) continue;
    if (pauses && inbox.mayWait) {
      inbox.mayWait = false;
      const [head] = (await unlessUnavailable(() => runs.heads([runId]))) ?? [];
      if (isPausedBy(head, pauses)) return;
    }
    behind = await inbox.arrived(signal);
  }
}

async function unlessUnavailable<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined;
    throw error;
  }
}

const isPausedBy = (head: RunHead | undefined, pauses: Pauses): boolean =>
  head?.waitsFor !== undefined && (pauses === "any" || head.waitsFor === pauses);

function createInbox(after: number, { pauses, statuses }: { pauses: boolean; statuses: boolean }) {
  let items: Followed[] = [];
  let chars = 0;
  let mustRead = false;
  let resolve: (() => void) | undefined;

  function notify(): void {
    resolve?.();
    resolve = undefined;
  }
  function readLog(): void {
    mustRead = true;
    notify();
  }
  function put(item: Followed): void {
    items.push(item);
    chars += item.body.length;
    // One event may exceed the limit. All readers in the process share its text; from the log each would read a copy.
    if (chars <= INBOX_CHARS || items.length === 1) return;
    items = [];
    chars = 0;
    mustRead = true;
  }

  const inbox = {
    /** The last event's number that the reader got. */
    last: after,
    /** True when the run may wait: it has lost its owner. */
    mayWait: false,
    /** True when the run has ended or was erased: no event will come that is not in the log now. */
    hasEnded: false,
    notify,
    receive(message: FeedMessage): void {
      if ("upTo" in message) {
        inbox.mayWait ||= message.upTo >= Number.MAX_SAFE_INTEGER;
        if (message.upTo > (items.at(-1)?.id ?? inbox.last)) readLog();
        if (message.status === undefined || !statuses) return;
        put({ body: message.status });
      } else if ("live" in message) put({ body: message.live });
      else for (const { seq, body } of message.stored) put({ id: seq, body });
      notify();
    },
    check(head: RunHead | undefined): void {
      inbox.hasEnded = !head || head.ended;
      const waits = pauses && head?.waitsFor !== undefined;
      inbox.mayWait ||= waits;
      if (inbox.hasEnded || waits || (head && head.lastSeq > inbox.last)) readLog();
    },
    take(): Followed[] {
      const taken = items;
      items = [];
      chars = 0;
      return taken;
    },
    /** Resolves when something arrived or the reader stops; true when the log must be read. */
    async arrived(signal: AbortSignal): Promise<boolean> {
      if (items.length === 0 && !mustRead && !signal.aborted) await new Promise<void>((done) => (resolve = done));
      const read = mustRead;
      mustRead = false;
      return read;
    },
  };
  return inbox;
}

/**
 * Joins a signal that lasts as long as the process with many short-lived ones, each until it is disposed.
 * `AbortSignal.any` uses weak references for this, which cost more than everything else that a waiting request does.
 */
export function joining(lasting: AbortSignal): (signal: AbortSignal) => Disposable & { readonly signal: AbortSignal } {
  const joined = new Set<AbortController>();
  lasting.addEventListener("abort", () => {
    for (const one of joined) one.abort(lasting.reason);
  });
  return (signal) => {
    const either = new AbortController();
    const abort = (): void => either.abort(signal.reason);
    const first = [signal, lasting].find(({ aborted }) => aborted);
    if (first) either.abort(first.reason);
    signal.addEventListener("abort", abort);
    joined.add(either);
    return {
      signal: either.signal,
      [Symbol.dispose]() {
        joined.delete(either);
        signal.removeEventListener("abort", abort);
      },
    };
  };
}

/** How often to check followed runs' logs although the bus works: it may lose messages silently. */
const HEALTHY_MS = 5_000;
const UNHEALTHY_MS = 500;
const RUNS_PER_READ = 500;

interface PollerContext {
  runs: Pick<RunStore, "heads">;
  feed: Feed;
  clock: Clock;
  log: Log;
}

/** Checks all followed runs' logs together: ten thousand silent streams then cost a few statements, not one each. */
export function createLogPoller({ runs, feed, clock, log }: PollerContext) {
  const followed = createKeyedSets<(head: RunHead | undefined) => void>();

  async function poll(): Promise<void> {
    const runIds = followed.keys();
    for (let i = 0; i < runIds.length; i += RUNS_PER_READ) {
      const batch = runIds.slice(i, i + RUNS_PER_READ);
      feed.announce(batch);
      const heads = new Map((await runs.heads(batch)).map((head) => [head.runId, head]));
      for (const runId of batch) for (const check of followed.of(runId)) check(heads.get(runId));
    }
  }

  return {
    /** Calls `check` from time to time with the run's log state, undefined for an erased run, until disposed. */
    add: followed.add,
    /** Polls until aborted. */
    async run(signal: AbortSignal): Promise<void> {
      let polledAt = monotonicMs();
      let wasHealthy = feed.healthy;
      while (!signal.aborted) {
        await clock.sleep(UNHEALTHY_MS, { signal }).catch(() => {});
        const isSteady = feed.healthy && wasHealthy;
        wasHealthy = feed.healthy;
        if (signal.aborted || (isSteady && monotonicMs() - polledAt < HEALTHY_MS)) continue;
        polledAt = monotonicMs();
        await poll().catch((error: unknown) => log.debug("the logs of followed runs could not be read", { error }));
      }
    },
  };
}
