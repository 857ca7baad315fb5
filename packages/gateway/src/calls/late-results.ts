import { clearTimer, monotonicMs, setTimeout } from "@patchbay/kit/time";
import type { CallOutcome } from "@patchbay/protocol";
import type { JsonValue } from "@patchbay/kit";
import type { StoredAttempt } from "../channel.ts";
import { DUE } from "@patchbay/engine/ports/bus";
import type { GatewayContext } from "../context.ts";
import type { RuntimeConnection } from "../local/runtime-connection.ts";
import { type HostUpdate, INLINE_OUTCOME, replicaSubject } from "../peers/messages.ts";

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;
/** Results stored at the same time. More would delay the replica's other writes after a store outage. */
const MAX_STORING = 32;
/**
 * Results kept in memory until they are stored. Beyond it only the call's id is kept, and the runtime is asked again.
 */
const MAX_KEPT = 10_000;
const MAX_KEPT_BYTES = 33_554_432;

interface Result {
  callId: string;
  attempt: number;
  /** Undefined when only the runtime has it. */
  outcome: CallOutcome | undefined;
  /** When the attempt was sent, if this replica sent it. */
  sentAt: number | undefined;
  /** The replica that waits for it, if this replica sent the call for it. */
  replyTo: string | undefined;
}

interface LateResult extends Result {
  connection: RuntimeConnection;
  sizeBytes: number;
  /** Until then the replica that waits for it may store it. */
  offeredUntil: number | undefined;
  storing: boolean;
}

interface LateResultsDeps extends Pick<GatewayContext, "calls" | "within" | "bus" | "log"> {
  /** How long the replica that waits for a result may take to store it. */
  answerMs: number;
}

/**
 * Handles results that no run on this replica waits for: the run is on another replica, or has given up the call. If
 * this replica sent the call for another one, it offers the result to that one, which stores it with its run. Without a
 * confirmation, and for every other result, this replica stores it and notifies the run's replica. It acknowledges a
 * result only once it is stored, because the runtime then forgets it; before that, a result whose connection closes
 * arrives again over the next one.
 */
export class LateResults implements Disposable {
  readonly #deps: LateResultsDeps;
  readonly #waiting = new Map<string, LateResult>();
  /** Results that another replica may store, the earliest deadline first. */
  readonly #offered = new Map<string, LateResult>();
  readonly #storing = new Set<Promise<void>>();
  #keptBytes = 0;
  #retryMs = FIRST_RETRY_MS;
  #timer: NodeJS.Timeout | undefined;
  #offersTimer: NodeJS.Timeout | undefined;
  /** True from a store failure until the next retry: there are no other writes meanwhile. */
  #failing = false;
  #closed = false;

  constructor(deps: LateResultsDeps) {
    this.#deps = deps;
  }

  add(connection: RuntimeConnection, result: Result & { outcome: CallOutcome }, sizeBytes: number): void {
    const key = keyOf(connection, result.callId);
    this.#forgetBefore(key, result.attempt);
    const offered = this.#offered.get(key);
    // Another replica has asked the runtime for the result, so the run has moved: its new owner reads the store.
    if (offered) this.#withdraw(key, offered);
    if (this.#waiting.has(key)) return;
    const fits = this.#waiting.size + this.#offered.size < MAX_KEPT && this.#keptBytes + sizeBytes <= MAX_KEPT_BYTES;
    const kept = fits ? { sizeBytes } : { outcome: undefined, sizeBytes: 0 };
    const late = { connection, ...result, ...kept, offeredUntil: undefined, storing: false };
    this.#keptBytes += late.sizeBytes;
    if (fits && this.#offer(key, late)) return;
    this.#waiting.set(key, late);
    if (fits) this.#storeNext();
    else this.#retryLater();
  }

  /** Drops an earlier attempt's provisional result: the run has used it, because it began another attempt. */
  #forgetBefore(key: string, attempt: number): void {
    for (const results of [this.#offered, this.#waiting]) {
      const earlier = results.get(key);
      if (!earlier || earlier.attempt >= attempt) continue;
      results.delete(key);
      this.#keptBytes -= earlier.sizeBytes;
    }
  }

  /** True while the result is not stored. */
  has(connection: RuntimeConnection, callId: string): boolean {
    const key = keyOf(connection, callId);
    return this.#waiting.has(key) || this.#offered.has(key);
  }

  /** The replica that waits for these results has stored them. */
  acknowledged(connection: RuntimeConnection, stored: readonly StoredAttempt[]): void {
    for (const one of stored) {
      const key = keyOf(connection, one.callId);
      const late = this.#offered.get(key);
      if (!late || late.attempt > one.attempt) continue;
      this.#offered.delete(key);
      this.#keptBytes -= late.sizeBytes;
      connection.acknowledge(one);
    }
  }

  /** Resolves when every write in progress has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#storing);
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    clearTimer(this.#timer);
    clearTimer(this.#offersTimer);
  }

  /** Returns false when the waiting replica is unknown, or must read the result from the store. */
  #offer(key: string, late: LateResult): boolean {
    const { bus, answerMs } = this.#deps;
    const { connection, callId, attempt, outcome, replyTo, sentAt } = late;
    if (this.#closed || replyTo === undefined || !bus.healthy) return false;
    if (!outcome || !isSendable(outcome, late.sizeBytes)) return false;
    const { agentId, instanceId } = connection.identity;
    const sent = sentAt === undefined ? {} : { sentAt };
    const update: HostUpdate = { type: "answered", callId, attempt, agentId, instanceId, outcome, ...sent };
    late.offeredUntil = monotonicMs() + answerMs;
    this.#offered.set(key, late);
    this.#offersTimer ??= setTimeout(() => this.#endOffers(), answerMs);
    bus.publish(replicaSubject(replyTo), update as JsonValue);
    return true;
  }

  /** Stores results offered for too long. */
  #endOffers(): void {
    this.#offersTimer = undefined;
    const now = monotonicMs();
    for (const [key, late] of this.#offered) {
      const leftMs = late.offeredUntil! - now;
      if (leftMs > 0) {
        this.#offersTimer = setTimeout(() => this.#endOffers(), Math.ceil(leftMs));
        break;
      }
      this.#withdraw(key, late);
    }
  }

  #withdraw(key: string, late: LateResult): void {
    this.#offered.delete(key);
    this.#waiting.set(key, late);
    this.#storeNext();
  }

  #storeNext(): void {
    if (this.#failing || this.#closed) return;
    for (const late of this.#waiting.values()) {
      if (this.#storing.size >= MAX_STORING) return;
      if (!late.storing && late.outcome) this.#begin(late, late.outcome);
    }
  }

  #begin(late: LateResult, outcome: CallOutcome): void {
    const stored = this.#store(late, outcome).finally(() => {
      this.#storing.delete(stored);
      this.#storeNext();
    });
    this.#storing.add(stored);
  }

  async #store(late: LateResult, outcome: CallOutcome): Promise<void> {
    const { connection, callId, attempt, sentAt } = late;
    const { agentId, instanceId, orgId } = connection.identity;
    late.storing = true;
    try {
      const { over, owner, due } = await this.#deps.within(orgId, () =>
        this.#deps.calls.arrive({ agentId, callId, instanceId, attempt }, outcome, sentAt),
      );
      this.#retryMs = FIRST_RETRY_MS;
      if (!this.#drop(late)) return;
      connection.send({ type: "resultAck", callId, attempt });
      if (due) this.#deps.bus.publish(DUE, callId);
      if (!over && owner !== undefined)
        this.#deps.bus.publish(
          replicaSubject(owner),
          storedUpdate({ callId, attempt }, outcome, late.sizeBytes) as JsonValue,
        );
    } catch (error) {
      late.storing = false;
      this.#failing = true;
      this.#deps.log.debug("late result not stored, will retry", { agentId, callId, error });
      if (!this.#closed) this.#retryLater();
    }
  }

  #retryLater(): void {
    this.#timer ??= setTimeout(() => this.#retry(), this.#retryMs);
  }

  #retry(): void {
    this.#timer = undefined;
    this.#failing = false;
    this.#retryMs = Math.min(LAST_RETRY_MS, this.#retryMs * 2);
    for (const late of this.#waiting.values()) {
      // The runtime sends an unacknowledged result again over its next connection, so this one drops it.
      if (!late.connection.open) this.#drop(late);
      else if (!late.storing && !late.outcome) {
        this.#drop(late);
        late.connection.queryCall(late.callId, late.attempt);
      }
    }
    this.#storeNext();
  }

  /** Returns false when a later attempt's result has replaced this one. */
  #drop(late: LateResult): boolean {
    const key = keyOf(late.connection, late.callId);
    if (this.#waiting.get(key) !== late) return false;
    this.#waiting.delete(key);
    this.#keptBytes -= late.sizeBytes;
    return true;
  }
}

const keyOf = (connection: RuntimeConnection, callId: string): string =>
  `${connection.identity.connectionId} ${callId}`;

/** False for an outcome that is large, or vague: for `outcome_unknown` the store may have a fuller one. */
function isSendable(outcome: CallOutcome, sizeBytes: number): boolean {
  const isVague = !outcome.ok && outcome.code === "outcome_unknown";
  return !isVague && sizeBytes <= INLINE_OUTCOME;
}

const storedUpdate = (id: { callId: string; attempt: number }, outcome: CallOutcome, sizeBytes: number): HostUpdate =>
  isSendable(outcome, sizeBytes) ? { type: "stored", ...id, outcome } : { type: "stored", ...id };
