import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { LIMITS, type LINK_CLOSE, type Manifest, type PlaneFrame } from "@patchbay/protocol";
import { WebSocket } from "ws";

/** What a link's hello and key say of it. */
export interface LinkIdentity {
  connectionId: string;
  agentId: string;
  keyId: string;
  /** Kept in memory to ask, again and again, whether the key still holds. */
  secret: string;
  instanceId: string;
  concurrency: number;
  manifest: Manifest;
  manifestHash: string;
}

/** A call frame that waits for a free place on its link. */
export interface Waiting {
  readonly text: string;
  /** Called once, when the frame was handed to the socket. */
  sent(): void;
}

/** Calls are held back while this much is unsent; a link with more than the cap unsent is given up. */
const HOLD_BYTES = 2 * LIMITS.frameBytes;
const CAP_BYTES = 4 * LIMITS.frameBytes;
const SILENT_TICKS = 3;
const PROGRESS_PER_SECOND = 200;

/** One runtime's open link. At most `concurrency` calls are on it at a time; others wait here, where they can be taken back. */
export class Link {
  readonly identity: LinkIdentity;
  draining = false;
  /** When a call was last assigned to it, to take turns among equals. */
  turn = 0;
  readonly #socket: WebSocket;
  readonly #transport: Duplex;
  readonly #onWire = new Set<Waiting>();
  readonly #queue = new Set<Waiting>();
  #silentTicks = 0;
  #bytesSeen = 0;
  #progress = { second: 0, count: 0 };

  constructor(identity: LinkIdentity, socket: WebSocket, transport: Duplex) {
    this.identity = identity;
    this.#socket = socket;
    this.#transport = transport;
  }

  get open(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** True when it may be given further calls. */
  get available(): boolean {
    return this.open && !this.draining;
  }

  get load(): number {
    return (this.#onWire.size + this.#queue.size) / this.identity.concurrency;
  }

  send(frame: PlaneFrame): void {
    if (!this.open) return;
    if (this.#socket.bufferedAmount > CAP_BYTES) this.#socket.terminate();
    else this.#socket.send(JSON.stringify(frame));
  }

  enqueue(call: Waiting): void {
    this.#queue.add(call);
    this.#pump();
  }

  /** Counts a call that is already at the runtime, sent over an earlier link or by another process. */
  adopt(call: Waiting): void {
    this.#onWire.add(call);
  }

  /** Gives a call's place to the next one, whether it was sent or still waited. */
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
      this.#socket.send(call.text, this.#flushed);
      call.sent();
    }
  };

  readonly #flushed = (): void => {
    if (this.#queue.size > 0) this.#pump();
  };

  /** False when this second has had its share of progress: it is shown live and never kept, so it may be dropped. */
  takesProgress(nowMs: number): boolean {
    const second = Math.floor(nowMs / 1_000);
    if (this.#progress.second !== second) this.#progress = { second, count: 0 };
    return this.#progress.count++ < PROGRESS_PER_SECOND;
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
    closeSocket(this.#socket, code, reason);
  }
}

/** A peer that does not answer the close is cut off after a second. WebSocket reasons hold 123 bytes. */
export function closeSocket(socket: WebSocket, code: number, reason: string): void {
  socket.close(
    code,
    Buffer.from(reason)
      .subarray(0, 120)
      .toString()
      .replace(/\uFFFD$/, ""),
  );
  const cut = setTimeout(() => socket.terminate(), 1_000);
  socket.once("close", () => clearTimeout(cut));
}
