import type { CallOutcome, JsonValue } from "@patchbay/protocol";
import type { Bus } from "../ports/bus.ts";
import type { Log } from "../ports/log.ts";
import type { CallStore } from "../ports/run-store.ts";
import type { Store } from "../ports/stores.ts";
import type { Link } from "./link.ts";
import { type HolderNews, INLINE_OUTCOME, replicaSubject } from "./messages.ts";

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;
/** Results that are being stored: more would keep everybody else waiting for the store. */
const AT_ONCE = 32;
/** What is kept here while the store is out of reach; beyond it the runtime is asked for its answer again. */
const KEEP_COUNT = 10_000;
const KEEP_BYTES = 33_554_432;

interface Late {
  link: Link;
  callId: string;
  attempt: number;
  /** Undefined: it is with its runtime alone, and to be asked for. */
  outcome: CallOutcome | undefined;
  /** When the attempt was sent, where that was done here. */
  sentAt: number | undefined;
  sizeBytes: number;
  busy: boolean;
}

/**
 * Results that nobody of this process waits for: each is stored, acknowledged to its runtime, and told to the owner of its run.
 * While the store cannot take them they are not acknowledged; one whose link goes meanwhile comes again over the next one.
 */
export interface LateResults extends Disposable {
  add(
    link: Link,
    result: { callId: string; attempt: number; outcome: CallOutcome; sentAt: number | undefined },
    sizeBytes: number,
  ): void;
  /** True while the result is not stored yet. */
  has(link: Link, callId: string): boolean;
  /** Resolves when what is being stored now is, or has failed. */
  settled(): Promise<void>;
}

export function createLateResults(options: {
  calls: CallStore;
  within: Store["within"];
  bus: Bus;
  log: Log;
}): LateResults {
  const { calls, within, bus, log } = options;
  const waiting = new Map<string, Late>();
  const storing = new Set<Promise<void>>();
  let keptBytes = 0;
  let retryMs = FIRST_RETRY_MS;
  let timer: NodeJS.Timeout | undefined;
  /** True from a failure of the store until the next attempt. */
  let failing = false;
  let closed = false;

  const keyOf = (link: Link, callId: string): string => `${link.identity.connectionId} ${callId}`;

  function drop(late: Late): void {
    const key = keyOf(late.link, late.callId);
    if (waiting.get(key) !== late) return;
    waiting.delete(key);
    keptBytes -= late.sizeBytes;
  }

  async function store(late: Late, outcome: CallOutcome): Promise<void> {
    const { link, callId, attempt, sentAt } = late;
    const { agentId, instanceId, orgId } = link.identity;
    late.busy = true;
    try {
      const sent = sentAt === undefined ? undefined : { attempt, at: sentAt };
      const { over, owner } = await within(orgId, () => calls.arrive({ agentId, callId, instanceId }, outcome, sent));
      drop(late);
      retryMs = FIRST_RETRY_MS;
      link.send({ type: "resultAck", callId });
      if (!over && owner !== undefined) bus.publish(replicaSubject(owner), arrivedNews(callId, outcome) as JsonValue);
    } catch (error) {
      late.busy = false;
      failing = true;
      log.debug("a result could not be stored yet", { agentId, callId, error });
      if (!closed) timer ??= setTimeout(retry, retryMs);
    }
  }

  function begin(late: Late, outcome: CallOutcome): void {
    const stored = store(late, outcome).finally(() => {
      storing.delete(stored);
      storeNext();
    });
    storing.add(stored);
  }

  function storeNext(): void {
    if (failing || closed) return;
    for (const late of waiting.values()) {
      if (storing.size >= AT_ONCE) return;
      if (!late.busy && late.outcome) begin(late, late.outcome);
    }
  }

  function retry(): void {
    timer = undefined;
    failing = false;
    retryMs = Math.min(LAST_RETRY_MS, retryMs * 2);
    for (const late of waiting.values()) {
      if (!late.link.open) drop(late);
      else if (!late.busy && !late.outcome) {
        drop(late);
        late.link.askAbout(late.callId, late.attempt);
      }
    }
    storeNext();
  }

  return {
    add(link, { callId, attempt, outcome, sentAt }, size) {
      if (waiting.has(keyOf(link, callId))) return;
      const fits = waiting.size < KEEP_COUNT && keptBytes + size <= KEEP_BYTES;
      const sizeBytes = fits ? size : 0;
      const kept = fits ? outcome : undefined;
      const late: Late = { link, callId, attempt, outcome: kept, sentAt, sizeBytes, busy: false };
      waiting.set(keyOf(link, callId), late);
      keptBytes += sizeBytes;
      if (fits) storeNext();
      else timer ??= setTimeout(retry, retryMs);
    },
    has: (link, callId) => waiting.has(keyOf(link, callId)),
    async settled() {
      await Promise.all(storing);
    },
    [Symbol.dispose]() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** The outcome goes along unless it is large, or says no more than that the store may have a fuller one. */
function arrivedNews(callId: string, outcome: CallOutcome): HolderNews {
  const vague = !outcome.ok && outcome.code === "outcome_unknown";
  const large = JSON.stringify(outcome).length > INLINE_OUTCOME;
  return vague || large ? { type: "arrived", callId } : { type: "arrived", callId, outcome };
}
