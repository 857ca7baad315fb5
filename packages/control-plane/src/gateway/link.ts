import { randomUUID } from "node:crypto";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import {
  LIMITS,
  type HookVerdict,
  type LINK_CLOSE,
  type Manifest,
  type PlaneFrame,
  type PreparedContext,
  type RuntimeFrame,
} from "@patchbay/protocol";
import { WebSocket } from "ws";
import type { HookInput } from "../ports/function-gateway.ts";
import { Reservations } from "./reservations.ts";
import { REASON_BYTES, shorten } from "./shorten.ts";
import type { CancelReason, Line, LineCall, LineIdentity, PrepareInput, Waiting } from "./line.ts";

/** What a link's hello and key say of it. */
export interface LinkIdentity extends LineIdentity {
  keyId: string;
  orgId: string;
  manifest: Manifest;
}

/** Calls are held back while this much is unsent; a link with more than the cap unsent is given up. */
const HOLD_BYTES = 2 * LIMITS.frameBytes;
const CAP_BYTES = 4 * LIMITS.frameBytes;
/** Calls that may wait for a free place. */
const MAX_WAITING = 1_000;
const SILENT_TICKS = 2;
/** Calls whose answers are awaited; of more, the oldest count as unasked. */
const MAX_AWAITED = 10_000;
/** What nobody waits for goes with the next frame, or by itself after so long. */
const UNHURRIED_MS = 10;

/** One runtime's open link. At most `concurrency` calls are on it at a time; others wait here, where they can be taken back. */
export class Link implements Line {
  readonly identity: LinkIdentity;
  readonly local = true;
  readonly reachable = true;
  draining = false;
  turn = 0;
  readonly reserved = new Reservations();
  readonly openedAt = performance.now();
  readonly #socket: WebSocket;
  readonly #transport: Duplex;
  readonly #onWire = new Set<Waiting>();
  readonly #queue = new Set<Waiting>();
  /** By the type of the answer and its id. */
  readonly #questions = new Map<string, (answer: unknown) => void>();
  #silentTicks = 0;
  #bytesSeen = 0;
  /** Calls that were sent or asked about here, until their result. */
  readonly #results = new Set<string>();
  /** The same, until the runtime says where it stands with them. */
  readonly #states = new Set<string>();
  #gathering = false;
  #unhurried: string[] = [];
  #unhurriedTimer: NodeJS.Timeout | undefined;

  constructor(identity: LinkIdentity, socket: WebSocket, transport: Duplex) {
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

  /** Calls at the runtime or waiting for it. */
  get calls(): number {
    return this.#onWire.size + this.#queue.size;
  }

  /** True when a further call may wait here. */
  get hasRoom(): boolean {
    return this.#queue.size < MAX_WAITING;
  }

  get load(): number {
    return (this.calls + this.reserved.count) / this.identity.concurrency;
  }

  send(frame: PlaneFrame): void {
    if (!this.open) return;
    if (this.#socket.bufferedAmount > CAP_BYTES) this.#socket.terminate();
    else this.#write(JSON.stringify(frame));
  }

  /** Sends a frame that nobody waits for: with the next one, or a little later. */
  sendUnhurried(frame: PlaneFrame): void {
    this.#unhurried.push(JSON.stringify(frame));
    this.#unhurriedTimer ??= setTimeout(this.#sendUnhurried, UNHURRIED_MS);
  }

  readonly #sendUnhurried = (): void => {
    clearTimeout(this.#unhurriedTimer);
    this.#unhurriedTimer = undefined;
    const texts = this.#unhurried;
    this.#unhurried = [];
    if (this.open) for (const text of texts) this.#write(text);
  };

  /** What all that follows from one event sends leaves in one write: the next tick comes once nothing else is due. */
  #write(text: string, flushed?: () => void): void {
    if (!this.#gathering) {
      this.#gathering = true;
      this.#transport.cork();
      process.nextTick(() => {
        this.#gathering = false;
        this.#transport.uncork();
      });
    }
    if (this.#unhurried.length > 0) this.#sendUnhurried();
    this.#socket.send(text, flushed);
  }

  enqueue(call: Waiting): boolean {
    if (!this.hasRoom) return false;
    this.#queue.add(call);
    this.#pump();
    return true;
  }

  /** Counts a call that is already at the runtime, sent over an earlier link or by another process. */
  adopt(call: Waiting): void {
    this.#onWire.add(call);
  }

  ask(call: LineCall): void {
    this.adopt(call);
    this.askAbout(call.callId, call.order.attempt);
  }

  /** Asks the runtime for a call's state and, where it has ended, for its result. */
  askAbout(callId: string, attempt: number): void {
    this.#await(callId);
    this.send({ type: "callQuery", callId, attempt });
  }

  #await(callId: string): void {
    for (const awaited of [this.#results, this.#states]) {
      awaited.add(callId);
      if (awaited.size > MAX_AWAITED) awaited.delete(awaited.keys().next().value ?? callId);
    }
  }

  /** True for what the runtime owes to something sent over this link, once for each; the rest is of its own accord. */
  answers(frame: RuntimeFrame): boolean {
    switch (frame.type) {
      case "result":
        this.#states.delete(frame.callId);
        return this.#results.delete(frame.callId);
      case "callState":
        return this.#states.delete(frame.callId);
      case "prepared":
      case "hookResult":
        return this.#questions.has(questionKey(frame.type, frame.id));
      case "draining":
        return !this.draining;
      default:
        return false;
    }
  }

  cancel(call: LineCall, reason: CancelReason): void {
    if (this.#onWire.has(call)) this.send({ type: "cancel", callId: call.order.callId, reason });
    else this.#queue.delete(call);
  }

  release(call: Waiting): void {
    this.#queue.delete(call);
    if (this.#onWire.delete(call)) this.#pump();
  }

  readonly #pump = (): void => {
    for (const call of this.#queue) {
      if (this.#onWire.size >= this.identity.concurrency || this.#socket.bufferedAmount > HOLD_BYTES || !this.open)
        return;
      this.#queue.delete(call);
      this.#onWire.add(call);
      this.#await(call.callId);
      this.#write(call.text, this.#flushed);
      call.sent();
    }
  };

  readonly #flushed = (): void => {
    if (this.#queue.size > 0) this.#pump();
  };

  prepare(input: PrepareInput, signal: AbortSignal): Promise<PreparedContext | undefined> {
    return this.#question("prepared", (id) => ({ type: "prepare", id, ...input }), signal);
  }

  runHook(input: HookInput, signal: AbortSignal): Promise<HookVerdict | undefined> {
    return this.#question("hookResult", (id) => ({ type: "hook", id, ...input }), signal);
  }

  #question<T>(
    answer: AnswerFrame["type"],
    frameOf: (id: string) => PlaneFrame,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const id = randomUUID();
    const key = questionKey(answer, id);
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    const stop = (): void => resolve(undefined);
    signal.addEventListener("abort", stop);
    this.#questions.set(key, resolve as (answer: unknown) => void);
    this.send(frameOf(id));
    return promise.finally(() => {
      signal.removeEventListener("abort", stop);
      this.#questions.delete(key);
    });
  }

  /** The runtime's answer to `prepare` or `runHook`. */
  answered(frame: AnswerFrame): void {
    this.#questions.get(questionKey(frame.type, frame.id))?.(frame.type === "prepared" ? frame.prepared : frame.result);
  }

  /** The link is no longer used: nobody waits for its answers. */
  left(): void {
    this.#sendUnhurried();
    for (const answer of this.#questions.values()) answer(undefined);
  }

  /**
   * Pings, and ends a link that was silent for three ticks. Bytes are counted below the WebSocket, so that one large frame on a
   * slow network counts as life; ticks instead of time, so that a suspended process does not blame its peers.
   */
  tick(): void {
    const bytes = this.#transport instanceof Socket ? this.#transport.bytesRead : Number.NaN;
    this.#silentTicks = bytes === this.#bytesSeen ? this.#silentTicks + 1 : 0;
    this.#bytesSeen = bytes;
    if (this.#silentTicks >= SILENT_TICKS) this.#socket.terminate();
    else if (this.open) this.#socket.ping();
  }

  close(code: (typeof LINK_CLOSE)[keyof typeof LINK_CLOSE], reason: string): void {
    this.#sendUnhurried();
    closeSocket(this.#socket, code, reason);
  }
}

type AnswerFrame = Extract<RuntimeFrame, { type: "prepared" | "hookResult" }>;

const questionKey = (answer: AnswerFrame["type"], id: string): string => `${answer} ${id}`;

/** A peer that does not answer the close is cut off after a second. */
export function closeSocket(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, shorten(reason, REASON_BYTES));
  const cut = setTimeout(() => socket.terminate(), 1_000);
  socket.once("close", () => clearTimeout(cut));
}
