import { clearTimer, monotonicMs, randomUUID, setTimeout } from "@patchbay/kit/time";
import type { Duplex } from "node:stream";
import {
  LIMITS,
  type HookVerdict,
  type CLOSE_CODES,
  type Manifest,
  type ControlPlaneFrame,
  type PreparedContext,
  type RuntimeFrame,
} from "@patchbay/protocol";
import { WebSocket } from "ws";
import type { HookInput } from "@patchbay/engine/ports/function-gateway";
import {
  AssignedCalls,
  type CancelReason,
  type ChannelCall,
  type ConnectionIdentity,
  type PrepareInput,
  type QueuedCall,
  type StoredAttempt,
  type RuntimeChannel,
} from "../channel.ts";
import { closeSocket, type FrameOf } from "../frames.ts";
import { Questions } from "../questions.ts";

/** A connection to this replica: its identity with facts from its runtime key and its hello. */
export interface LocalConnectionIdentity extends ConnectionIdentity {
  keyId: string;
  orgId: string;
  manifest: Manifest;
}

/** Queued calls wait while this much is unsent, so that they can still go to another runtime. */
const PAUSE_BYTES = 2 * LIMITS.frameBytes;
/** A connection with more unsent is terminated: its runtime does not read. */
const MAX_UNSENT_BYTES = 4 * LIMITS.frameBytes;
/** Calls that may wait for a free slot. */
const MAX_QUEUED = 1_000;
const SILENT_BEATS = 2;
/** Calls whose answers are expected; beyond it the oldest count as unasked. */
const MAX_EXPECTED = 10_000;
/** Deferred frames go with the next frame, or after this time. */
const DEFERRED_MS = 10;

/**
 * A runtime's connection to this replica. At most `concurrency` calls run on it; others are queued here, where they can
 * be taken back.
 */
export class RuntimeConnection implements RuntimeChannel {
  readonly identity: LocalConnectionIdentity;
  readonly local = true;
  readonly reachable = true;
  draining = false;
  lastPick = 0;
  readonly assigned = new AssignedCalls();
  readonly openedAt = monotonicMs();
  readonly #socket: WebSocket;
  readonly #transport: Duplex & { bytesRead?: number };
  readonly #running = new Set<QueuedCall>();
  readonly #queue = new Set<QueuedCall>();
  readonly #contexts = new Questions<PreparedContext>();
  readonly #hooks = new Questions<HookVerdict>();
  /** Calls that were sent or queried here and have no result yet. */
  readonly #expectedResults = new Set<string>();
  /** Calls that were sent or queried here and have neither state nor result yet. */
  readonly #expectedStates = new Set<string>();
  #silentBeats = 0;
  #bytesRead = 0;
  #corked = false;
  #deferred: string[] = [];
  #deferredTimer: NodeJS.Timeout | undefined;

  constructor(identity: LocalConnectionIdentity, socket: WebSocket, transport: Duplex) {
    this.identity = identity;
    this.#socket = socket;
    this.#transport = transport;
  }

  get open(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  get available(): boolean {
    return this.open && !this.draining;
  }

  /** Calls queued or running. */
  get calls(): number {
    return this.#running.size + this.#queue.size;
  }

  /** True when a further call may be queued. */
  get hasRoom(): boolean {
    return this.#queue.size < MAX_QUEUED;
  }

  get load(): number {
    return (this.calls + this.assigned.count) / this.identity.concurrency;
  }

  send(frame: ControlPlaneFrame): void {
    if (!this.open) return;
    if (this.#socket.bufferedAmount > MAX_UNSENT_BYTES) this.#socket.terminate();
    else this.#write(JSON.stringify(frame));
  }

  /** Sends the frame, which has no urgency, together with the next one, or a little later: saves a write. */
  acknowledge({ callId, attempt }: StoredAttempt): void {
    const frame: ControlPlaneFrame = { type: "resultAck", callId, attempt };
    this.#deferred.push(JSON.stringify(frame));
    this.#deferredTimer ??= setTimeout(this.#flushDeferred, DEFERRED_MS);
  }

  readonly #flushDeferred = (): void => {
    clearTimer(this.#deferredTimer);
    this.#deferredTimer = undefined;
    const texts = this.#deferred;
    this.#deferred = [];
    if (this.open) for (const text of texts) this.#write(text);
  };

  /** Corks the socket until the next tick, so that all frames from one event leave in one write. */
  #write(text: string, flushed?: () => void): void {
    if (!this.#corked) {
      this.#corked = true;
      this.#transport.cork();
      process.nextTick(() => {
        this.#corked = false;
        this.#transport.uncork();
      });
    }
    if (this.#deferred.length > 0) this.#flushDeferred();
    this.#socket.send(text, flushed);
  }

  carriesToken(functionName: string): boolean {
    return this.identity.manifest.functions.some(
      ({ name, needsCallerToken }) => needsCallerToken && name === functionName,
    );
  }

  enqueue(call: QueuedCall): boolean {
    if (!this.hasRoom) return false;
    this.#queue.add(call);
    this.#sendQueued();
    return true;
  }

  /** Counts a call as running that the runtime already has from an earlier connection or another replica. */
  adopt(call: QueuedCall): void {
    this.#running.add(call);
  }

  queryState(call: ChannelCall): void {
    this.adopt(call);
    this.queryCall(call.callId, call.order.attempt, call.ageMs);
  }

  /**
   * Asks the runtime for a call's state and, if it has ended, for its result. `ageMs`: since the attempt could begin.
   */
  queryCall(callId: string, attempt: number, ageMs?: number): void {
    this.#expect(callId);
    this.send({ type: "callQuery", callId, attempt, ...(ageMs !== undefined && { ageMs: Math.round(ageMs) }) });
  }

  #expect(callId: string): void {
    for (const expected of [this.#expectedResults, this.#expectedStates]) {
      expected.add(callId);
      if (expected.size > MAX_EXPECTED) expected.delete(expected.keys().next().value ?? callId);
    }
  }

  /**
   * True once for each frame that answers something sent on this connection. Other frames count against the runtime's
   * frame limit: with a limit on answers too, results that the control plane asked for would be dropped.
   */
  isExpected(frame: RuntimeFrame): boolean {
    switch (frame.type) {
      case "result":
        this.#expectedStates.delete(frame.callId);
        return this.#expectedResults.delete(frame.callId);
      case "callState":
        return this.#expectedStates.delete(frame.callId);
      case "prepared":
        return this.#contexts.has(frame.id);
      case "hookResult":
        return this.#hooks.has(frame.id);
      case "draining":
        return !this.draining;
      default:
        return false;
    }
  }

  cancel(call: ChannelCall, reason: CancelReason): void {
    if (this.#running.has(call)) this.send({ type: "cancel", callId: call.order.callId, reason });
    else this.#queue.delete(call);
  }

  stop(callId: string): void {
    this.send({ type: "cancel", callId, reason: "cancelled" });
  }

  release(call: QueuedCall): void {
    this.#queue.delete(call);
    if (this.#running.delete(call)) this.#sendQueued();
  }

  readonly #sendQueued = (): void => {
    const { concurrency } = this.identity;
    for (const call of this.#queue) {
      if (this.#running.size >= concurrency || this.#socket.bufferedAmount > PAUSE_BYTES || !this.open) return;
      this.#queue.delete(call);
      this.#running.add(call);
      this.#expect(call.callId);
      this.#write(call.text, this.#flushed);
      call.sent();
    }
  };

  readonly #flushed = (): void => {
    if (this.#queue.size > 0) this.#sendQueued();
  };

  prepare(input: PrepareInput, signal: AbortSignal): Promise<PreparedContext | undefined> {
    const id = randomUUID();
    return this.#contexts.ask(id, () => this.send({ type: "prepare", id, ...input }), signal);
  }

  runHook(input: HookInput, signal: AbortSignal): Promise<HookVerdict | undefined> {
    const id = randomUUID();
    return this.#hooks.ask(id, () => this.send({ type: "hook", id, ...input }), signal);
  }

  /** Settles the `prepare` or `runHook` that the frame answers. */
  answered(frame: FrameOf<"prepared" | "hookResult">): void {
    if (frame.type === "prepared") this.#contexts.answer(frame.id, frame.prepared);
    else this.#hooks.answer(frame.id, frame.result);
  }

  /** The connection is no longer its runtime's current one: unanswered questions resolve with undefined. */
  retire(): void {
    this.#flushDeferred();
    this.#contexts.close();
    this.#hooks.close();
  }

  /**
   * Pings, and terminates a connection that was silent for three beats. Counts bytes below the WebSocket, so that one
   * large frame on a slow network does not count as silence; counts beats instead of time, so that a control plane
   * process that was suspended does not terminate every connection when it resumes.
   */
  heartbeat(): void {
    const bytes = this.#transport.bytesRead ?? Number.NaN;
    this.#silentBeats = bytes === this.#bytesRead ? this.#silentBeats + 1 : 0;
    this.#bytesRead = bytes;
    if (this.#silentBeats >= SILENT_BEATS) this.#socket.terminate();
    else if (this.open) this.#socket.ping();
  }

  close(code: (typeof CLOSE_CODES)[keyof typeof CLOSE_CODES], reason: string): void {
    this.#flushDeferred();
    closeSocket(this.#socket, code, reason);
  }
}
