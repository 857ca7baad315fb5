import type { CallOutcome, JsonValue } from "@patchbay/protocol";
import type { Bus } from "../../ports/bus.ts";
import type { Log } from "../../ports/log.ts";
import type { CallStore } from "../../ports/run-store.ts";
import type { Store } from "../../ports/stores.ts";
import type { RuntimeConnection } from "../local/runtime-connection.ts";
import { type HostUpdate, INLINE_OUTCOME, replicaSubject } from "../peers/messages.ts";

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;
/** Results stored at the same time. More would delay every other write of the replica after an outage of the store. */
const MAX_STORING = 32;
/**
 * Results kept in memory while the store is unavailable. Beyond it only the call's id is kept, and the runtime is asked
 * again.
 */
const MAX_KEPT = 10_000;
const MAX_KEPT_BYTES = 33_554_432;

interface LateResult {
  connection: RuntimeConnection;
  callId: string;
  attempt: number;
  /** Undefined when only the runtime has it. */
  outcome: CallOutcome | undefined;
  /** When the attempt was sent, if this replica sent it. */
  sentAt: number | undefined;
  sizeBytes: number;
  storing: boolean;
}

interface LateResultsDeps {
  calls: CallStore;
  within: Store["within"];
  bus: Bus;
  log: Log;
}

/**
 * Handles results that no run of this replica waits for: the run has moved to another replica, or has given up the
 * call. Stores each, then acknowledges it to its runtime and sends it to the replica that has the run. A result is
 * acknowledged only once it is stored, because the runtime forgets it then; until that, a result whose connection
 * closes comes again over the next one.
 */
export class LateResults implements Disposable {
  readonly #deps: LateResultsDeps;
  readonly #waiting = new Map<string, LateResult>();
  readonly #storing = new Set<Promise<void>>();
  #keptBytes = 0;
  #retryMs = FIRST_RETRY_MS;
  #timer: NodeJS.Timeout | undefined;
  /** True from a failure of the store until the next retry: meanwhile no further write is tried. */
  #failing = false;
  #closed = false;

  constructor(deps: LateResultsDeps) {
    this.#deps = deps;
  }

  add(
    connection: RuntimeConnection,
    result: { callId: string; attempt: number; outcome: CallOutcome; sentAt: number | undefined },
    sizeBytes: number,
  ): void {
    const key = keyOf(connection, result.callId);
    if (this.#waiting.has(key)) return;
    const fits = this.#waiting.size < MAX_KEPT && this.#keptBytes + sizeBytes <= MAX_KEPT_BYTES;
    const kept = fits ? { outcome: result.outcome, sizeBytes } : { outcome: undefined, sizeBytes: 0 };
    this.#waiting.set(key, { connection, ...result, ...kept, storing: false });
    this.#keptBytes += kept.sizeBytes;
    if (fits) this.#storeNext();
    else this.#retryLater();
  }

  /** True while the result is not stored. */
  has(connection: RuntimeConnection, callId: string): boolean {
    return this.#waiting.has(keyOf(connection, callId));
  }

  /** Resolves when every write in progress has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#storing);
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    clearTimeout(this.#timer);
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
      const sent = sentAt === undefined ? undefined : { attempt, at: sentAt };
      const { over, owner } = await this.#deps.within(orgId, () =>
        this.#deps.calls.arrive({ agentId, callId, instanceId }, outcome, sent),
      );
      this.#drop(late);
      this.#retryMs = FIRST_RETRY_MS;
      connection.send({ type: "resultAck", callId });
      if (!over && owner !== undefined)
        this.#deps.bus.publish(replicaSubject(owner), storedUpdate(callId, outcome) as JsonValue);
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
      // The runtime sends an unacknowledged result again over its next connection, so it is not kept for this one.
      if (!late.connection.open) this.#drop(late);
      else if (!late.storing && !late.outcome) {
        this.#drop(late);
        late.connection.queryCall(late.callId, late.attempt);
      }
    }
    this.#storeNext();
  }

  #drop(late: LateResult): void {
    const key = keyOf(late.connection, late.callId);
    if (this.#waiting.get(key) !== late) return;
    this.#waiting.delete(key);
    this.#keptBytes -= late.sizeBytes;
  }
}

const keyOf = (connection: RuntimeConnection, callId: string): string =>
  `${connection.identity.connectionId} ${callId}`;

/** Contains the outcome unless it is large, or vague: for `outcome_unknown` the store may have a fuller one. */
function storedUpdate(callId: string, outcome: CallOutcome): HostUpdate {
  const isVague = !outcome.ok && outcome.code === "outcome_unknown";
  const isLarge = JSON.stringify(outcome).length > INLINE_OUTCOME;
  return isVague || isLarge ? { type: "stored", callId } : { type: "stored", callId, outcome };
}
