import { EventEmitter, once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parseJson } from "@patchbay/kit";
import { type CallFrame, type ControlPlaneFrame, FRAME_DEPTH, LIMITS, RuntimeFrame } from "@patchbay/protocol";
import { WebSocket, WebSocketServer } from "ws";

type FrameOf<Type extends RuntimeFrame["type"]> = Extract<RuntimeFrame, { type: Type }>;
type Welcome = Partial<Extract<ControlPlaneFrame, { type: "welcome" }>>;

/** A call that was sent, by its id. The key in its arguments is the same text. */
type CallId = string;

/** A stand-in control plane for one runtime: sends calls, and reads what the runtime answers. */
export class Session implements AsyncDisposable {
  /** Asks the runtime to stop. */
  stop: () => unknown = () => {};
  /** Refuses connections. */
  refuses = false;
  /** The newest connection, its request, and its hello. */
  socket!: WebSocket;
  request!: IncomingMessage;
  hello!: FrameOf<"hello">;
  /** Frames before the newest welcome. */
  early: readonly RuntimeFrame[] = [];
  /** Frames over every connection that were not read yet, and what is wrong with invalid ones. */
  readonly frames: RuntimeFrame[] = [];
  readonly faults: string[] = [];
  /** Requests for a connection that were refused. */
  readonly refused: object[] = [];
  readonly #opened: { socket: WebSocket; request: IncomingMessage }[] = [];
  readonly #news = new EventEmitter();
  readonly #server: WebSocketServer;
  readonly #waitMs: number;
  #isUsual = false;
  #ids = 0;

  constructor(options: { port: number; waitMs: number }) {
    this.#waitMs = options.waitMs;
    this.#server = new WebSocketServer({
      host: "127.0.0.1",
      port: options.port,
      maxPayload: LIMITS.frameBytes,
      verifyClient: (request, answer) => {
        if (this.refuses) this.#put(this.refused, request);
        answer(!this.refuses, 503);
      },
    });
    this.#server.on("connection", (socket, request) => {
      socket.on("error", () => {});
      socket.on("message", (data, isBinary) => this.#read(isBinary ? "" : (data as Buffer).toString()));
      this.#put(this.#opened, { socket, request });
    });
  }

  /** The address for the runtime, once it is open. */
  async url(): Promise<string> {
    if (!this.#server.address()) await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Prepares the next check: a connection with the usual welcome, and no result that the runtime keeps. */
  async ready(): Promise<void> {
    if (!this.#isUsual || this.socket.readyState !== WebSocket.OPEN) await this.reconnect();
    for (const frame of this.frames.splice(0))
      if (frame.type === "result") this.tell({ type: "resultAck", callId: frame.callId });
  }

  /** Ends the connection and welcomes the next one. */
  async reconnect(welcome?: Welcome): Promise<void> {
    this.socket.terminate();
    await this.connect(welcome);
  }

  /** Welcomes the next connection, and leaves the one before as it is. */
  async connect(welcome?: Welcome): Promise<void> {
    const isOpen = ({ socket }: { socket: WebSocket }) => socket.readyState === WebSocket.OPEN;
    Object.assign(this, await this.take(this.#opened, "connection", isOpen));
    this.hello = await this.next("hello");
    await this.event("pong");
    this.early = [...this.frames];
    this.#isUsual = welcome === undefined;
    this.tell({ type: "welcome", connectionId: this.newId(), agentId: "agent", heartbeatMs: 10_000, ...welcome });
  }

  /** Waits for a connection's event; `pong` also sends a ping, which is answered after every earlier frame. */
  async event(name: "ping" | "pong" | "close", socket = this.socket): Promise<string> {
    const seen = once(socket, name, { signal: AbortSignal.timeout(this.#waitMs) });
    if (name === "pong") socket.ping();
    await seen.catch(() => this.#fail(name));
    return name;
  }

  newId(): CallId {
    return `conformance_${String(++this.#ids).padStart(6, "0")}`;
  }

  /** Sends a frame. */
  tell(frame: object): void {
    this.socket.send(JSON.stringify(frame));
  }

  /** Sends a call, by default with a new id that is also its key. Returns the id. */
  send(name: string, more: Partial<CallFrame> = {}): CallId {
    const { callId = this.newId() } = more;
    const ids = { callId, attempt: 1, threadId: "thread", runId: "run" };
    const call = { function: name, arguments: { key: callId, by: 1 }, context: {}, timeoutMs: 60_000 };
    this.tell({ type: "call", ...ids, ...call, ...more });
    return callId;
  }

  /** The next frame with the type, about the call if there is one. */
  next<Type extends RuntimeFrame["type"]>(type: Type, callId?: CallId): Promise<FrameOf<Type>> {
    return this.take(this.frames, type, isAbout(type, callId)) as Promise<FrameOf<Type>>;
  }

  /** How many frames with the type came about a call, when the runtime has answered another question. */
  async count(type: RuntimeFrame["type"], callId: CallId): Promise<number> {
    await this.ask(this.newId());
    return this.frames.filter(isAbout(type, callId)).length;
  }

  async state(callId: CallId): Promise<string> {
    return (await this.next("callState", callId)).state;
  }

  /** A call's state, by a `callQuery`. */
  ask(callId: CallId, attempt = 1): Promise<string> {
    this.tell({ type: "callQuery", callId, attempt });
    return this.state(callId);
  }

  /** A call's next result, which is acknowledged unless it is to be kept. */
  async answer(callId: CallId, keep?: "keep"): Promise<FrameOf<"result">> {
    const frame = await this.next("result", callId);
    if (!keep) this.tell({ type: "resultAck", callId });
    return frame;
  }

  /** As `answer`: the value that the call returned, or its error code. */
  async result(callId: CallId, keep?: "keep"): Promise<unknown> {
    const { outcome } = await this.answer(callId, keep);
    return outcome.ok ? outcome.value : outcome.code;
  }

  /** Sends a call: its result, acknowledged. */
  call(name: string, more?: Partial<CallFrame>): Promise<unknown> {
    return this.result(this.send(name, more));
  }

  /** A call's key number, once it is not lower than the expected one. */
  async number(callId: CallId, expected = 0): Promise<unknown> {
    const late = AbortSignal.timeout(this.#waitMs);
    for (;;) {
      const number = await this.call("count", { arguments: { key: callId, by: 0 } });
      if (late.aborted || !(Number(number) < expected)) return number;
      await sleep(10);
    }
  }

  /** Calls `hold`, whose handler then runs. */
  async hold(more?: Partial<CallFrame>): Promise<CallId> {
    const callId = this.send("hold", more);
    await this.number(callId, 1);
    return callId;
  }

  cancel(callId: CallId): void {
    this.tell({ type: "cancel", callId, reason: "cancelled" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#server.clients) socket.terminate();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #read(text: string): void {
    const json = parseJson(text, FRAME_DEPTH);
    const parsed = RuntimeFrame.safeParse(json.ok ? json.value : undefined);
    if (parsed.success) this.#put(this.frames, parsed.data);
    else this.faults.push(`${text.slice(0, 200)} ${parsed.error.issues[0]!.path.join(".")}`);
  }

  #put<Item>(items: Item[], item: Item): void {
    items.push(item);
    this.#news.emit("news");
  }

  /** Removes and returns the oldest fitting item, or waits for one. */
  async take<Item>(items: Item[], what: string, fits: (item: Item) => boolean = () => true): Promise<Item> {
    const signal = AbortSignal.timeout(this.#waitMs);
    for (;;) {
      const at = items.findIndex(fits);
      if (at >= 0) return items.splice(at, 1)[0]!;
      await once(this.#news, "news", { signal }).catch(() => this.#fail(what));
    }
  }

  #fail(what: string): never {
    throw new Error(`No ${what} within ${this.#waitMs} ms.`);
  }
}

const isAbout = (type: string, callId?: CallId) => (frame: RuntimeFrame) =>
  frame.type === type && (callId === undefined || ("callId" in frame && frame.callId === callId));
