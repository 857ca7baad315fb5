import { clearTimer, monotonicMs, randomUUID, setTimeout } from "@patchbay/kit/time";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type ControlPlaneFrame, DEFAULT_LIMITS, ErrorBody, LIMITS } from "@patchbay/protocol";
import { parseJson, present } from "@patchbay/kit";
import { type ClientOptions, WebSocket } from "ws";
import type { Log } from "../log.ts";
import { parseControlPlaneFrame } from "./frames.ts";
import { type Heartbeat, startHeartbeat } from "./heartbeat.ts";
import type { Tunnel } from "./proxy.ts";

/** One WebSocket of this runtime to a control plane. */
export interface ControlPlaneConnection {
  /** True from the control plane's welcome until either side closes. */
  readonly open: boolean;
  /**
   * True while frames may arrive that are older than the process's last suspension: the control plane may have given up their calls, and
   * delivered them elsewhere.
   */
  readonly isStale: boolean;
  /** Frames that the control plane accepts per second without having asked for them; it drops more. */
  readonly framesPerSecond: number;
  /** Sends a frame. Does nothing while the connection is not open. */
  send(text: string): void;
  /** Sends a frame, or drops it if the network is slow or half of `framesPerSecond` has been sent in this second. */
  sendIfIdle(text: string): void;
  /**
   * Resolves when the control plane has read everything sent before and its frames until then have arrived, or when the
   * connection has ended.
   */
  roundTrip(): Promise<void>;
  close(): void;
}

/** Why a connection ended: `status` if the control plane refused the upgrade, else the WebSocket close code. */
export interface ConnectionEnd {
  status?: number;
  /** The status in the proxy's response, if the proxy refused to connect. */
  proxyStatus?: number;
  code: number;
  reason: string;
  /** How long the control plane asks the runtime to wait after a refusal because of a limit. */
  retryAfterMs?: number;
  /** How long the connection was open; 0 without a welcome. */
  openMs: number;
}

/** Called by a connection as it opens, receives frames and ends. `ended` is called exactly once. */
export interface ConnectionEvents {
  welcomed(connection: ControlPlaneConnection, agentId: string): void;
  frame(connection: ControlPlaneConnection, frame: ControlPlaneFrame): void;
  ended(connection: ControlPlaneConnection, end: ConnectionEnd): void;
  /** The process did not run for a time in which the control plane may have given up the calls that wait here. */
  suspended(): void;
}

/** A control plane's address, and the headers that identify the runtime. */
export interface Target {
  readonly address: string;
  readonly headers: Record<string, string>;
}

const HANDSHAKE_MS = 10_000;
/** With more unsent bytes than this, `sendIfIdle` drops frames. */
const IDLE_BYTES = 1_048_576;

/** Opens a WebSocket. A simulation has its own network. */
export type OpenSocket = (address: string, options: ClientOptions) => WebSocket;

const openWebSocket: OpenSocket = (address, options) => new WebSocket(address, options);

/** Connects to a control plane and sends `hello`. Never throws for network failures: they end the connection. */
export function openConnection(options: {
  target: Target;
  hello: Promise<string>;
  events: ConnectionEvents;
  log: Log;
  tunnel?: Tunnel;
  openSocket?: OpenSocket;
}): ControlPlaneConnection {
  const { target, hello, events, log, tunnel, openSocket = openWebSocket } = options;
  const abandoned = new AbortController();
  let proxyStatus: number | undefined;
  const socket = openSocket(target.address, {
    headers: target.headers,
    perMessageDeflate: false,
    handshakeTimeout: HANDSHAKE_MS,
    maxPayload: LIMITS.frameBytes,
    maxFragments: 64,
    maxBufferedChunks: 16_384,
    ...tunnel?.({ signal: abandoned.signal, refused: (status) => (proxyStatus = status) }),
  });
  const connection = new SocketConnection(socket, events, log);
  let refusal: Pick<ConnectionEnd, "status" | "proxyStatus" | "retryAfterMs"> = {};
  let failure = "";
  // Also limits the wait for the welcome, which `handshakeTimeout` does not cover.
  const welcomeTimer = setTimeout(() => socket.terminate(), 2 * HANDSHAKE_MS);

  socket.on("upgrade", (response) => (connection.transport = response.socket));
  socket.on("open", () => void hello.then((text) => socket.readyState === WebSocket.OPEN && socket.send(text)));
  socket.on("message", (data, isBinary) => {
    const parsed = isBinary ? BINARY_FRAME : parseControlPlaneFrame((data as Buffer).toString());
    if (!parsed.ok) return log.warn("ignored an invalid frame of the control plane", { fault: parsed.message });
    if (parsed.frame.type === "welcome") clearTimer(welcomeTimer);
    connection.receive(parsed.frame);
  });
  socket.on("unexpected-response", (_, response) => {
    // A proxy's 401 or 403 says nothing about the runtime key.
    refusal = proxyStatus === undefined ? refusalOf(response) : { proxyStatus };
    void readReason(response).then((reason) => {
      failure = reason;
      socket.terminate();
    });
  });
  socket.on("error", (error) => (failure ||= error.message));
  socket.on("close", (code, reason) => {
    clearTimer(welcomeTimer);
    if (!connection.transport) abandoned.abort();
    connection.end({ ...refusal, code, reason: String(reason) || failure });
  });
  return connection;
}

class SocketConnection implements ControlPlaneConnection {
  /** The TCP or TLS socket below the WebSocket, after the upgrade. */
  transport: Socket | undefined;
  framesPerSecond: number = DEFAULT_LIMITS.framesPerSecond;
  readonly #socket: WebSocket;
  readonly #events: ConnectionEvents;
  readonly #log: Log;
  #welcomedAt: number | undefined;
  #heartbeat: Heartbeat | undefined;
  /** Suspensions after which the control plane has not answered yet. */
  #suspensions = 0;
  #corked = false;
  /** Frames that `sendIfIdle` sent in the current second. */
  #unasked = { second: 0, count: 0 };

  constructor(socket: WebSocket, events: ConnectionEvents, log: Log) {
    this.#socket = socket;
    this.#events = events;
    this.#log = log;
  }

  get open(): boolean {
    return this.#welcomedAt !== undefined && this.#socket.readyState === WebSocket.OPEN;
  }

  send(text: string): void {
    if (!this.open) return;
    this.#cork();
    this.#socket.send(text);
  }

  sendIfIdle(text: string): void {
    const second = Math.floor(monotonicMs() / 1_000);
    if (this.#unasked.second !== second) this.#unasked = { second, count: 0 };
    if (this.#socket.bufferedAmount < IDLE_BYTES && this.#unasked.count++ < this.framesPerSecond / 2) this.send(text);
  }

  roundTrip(): Promise<void> {
    if (!this.open) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    // Pings and frames are answered in their order, and a heartbeat's ping has no data.
    const mark = randomUUID();
    this.#socket.on("pong", (data) => data.toString() === mark && resolve());
    this.#socket.once("close", () => resolve());
    this.#socket.ping(mark);
    return promise;
  }

  close(): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.close(1000);
    else this.#socket.terminate();
  }

  get isStale(): boolean {
    return this.#suspensions > 0;
  }

  receive(frame: ControlPlaneFrame): void {
    // A process that is resumed may read what was sent to it before its timers run.
    this.#heartbeat?.check();
    if (frame.type === "welcome") this.#welcome(frame);
    else if (this.open) this.#events.frame(this, frame);
  }

  end(end: Omit<ConnectionEnd, "openMs">): void {
    this.#heartbeat?.stop();
    const openMs = this.#welcomedAt === undefined ? 0 : monotonicMs() - this.#welcomedAt;
    this.#events.ended(this, { ...end, openMs });
  }

  #welcome(frame: Extract<ControlPlaneFrame, { type: "welcome" }>): void {
    if (this.#welcomedAt !== undefined) return;
    this.#welcomedAt = monotonicMs();
    this.framesPerSecond = frame.framesPerSecond ?? this.framesPerSecond;
    const bytesRead = () => this.transport?.bytesRead;
    const suspended = () => this.#suspended();
    this.#heartbeat = startHeartbeat(this.#socket, {
      bytesRead,
      suspended,
      everyMs: frame.heartbeatMs,
      log: this.#log,
    });
    this.#events.welcomed(this, frame.agentId);
    for (const warning of frame.warnings ?? []) this.#log.warn("warning about the function set", { warning });
  }

  #suspended(): void {
    this.#suspensions++;
    void this.roundTrip().then(() => this.#suspensions--);
    this.#events.suspended();
  }

  /** Corks the socket until the next tick, so that frames sent in the same tick leave in one write. */
  #cork(): void {
    if (this.#corked || !this.transport) return;
    this.#corked = true;
    this.transport.cork();
    process.nextTick(() => {
      this.#corked = false;
      this.transport?.uncork();
    });
  }
}

/** Limits the wait that a proxy before the control plane can request. */
const LONGEST_RETRY_AFTER_S = 60;

function refusalOf({ statusCode, headers }: IncomingMessage): Pick<ConnectionEnd, "status" | "retryAfterMs"> {
  const seconds = Math.min(LONGEST_RETRY_AFTER_S, Number(headers["retry-after"]));
  const asksToWait = statusCode === 429 && seconds > 0;
  return { ...present({ status: statusCode }), ...(asksToWait && { retryAfterMs: seconds * 1000 }) };
}

const REFUSAL_BYTES = 4_096;
const RefusalBody = ErrorBody.pick({ errorMessage: true });

/** The error message in a refused upgrade, empty if its body has none. Never rejects. */
async function readReason(response: IncomingMessage): Promise<string> {
  let text = "";
  try {
    for await (const chunk of response.setEncoding("utf8")) {
      text += chunk;
      if (text.length > REFUSAL_BYTES) return "";
    }
  } catch {
    return "";
  }
  const json = parseJson(text);
  const body = RefusalBody.safeParse(json.ok ? json.value : undefined);
  return body.success ? body.data.errorMessage : "";
}

const BINARY_FRAME = { ok: false, message: "is binary" } as const;
/** Throws a `TypeError` for an address that cannot be a control plane's, and for a key with invalid characters. */
export function parseTarget(options: { url: string; key: string; agentId?: string }): Target {
  const { url, key, agentId } = options;
  const address = URL.parse(url);
  const scheme = address && SCHEMES[address.protocol];
  if (!address || !scheme)
    throw new TypeError(
      `connect: "${url}" is not the address of a control plane. Give one like https://host or ws://host:8787.`,
    );
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new TypeError("connect: the key is empty or has invalid characters. Give a runtime key of the agent.");
  const path = `${address.pathname.replace(/\/+$/, "")}/functions/connect`;
  const headers: Record<string, string> = { Authorization: `Bearer ${key}` };
  if (agentId !== undefined) headers["X-Agent-Id"] = agentId;
  return { address: `${scheme}//${address.host}${path}`, headers };
}

const SCHEMES: Record<string, string> = { "http:": "ws:", "https:": "wss:", "ws:": "ws:", "wss:": "wss:" };

/** Throws a `TypeError` for a name that no control plane accepts. */
export function requireValidDeployment(name: string | undefined): void {
  if (name === undefined || (name.length > 0 && name.length <= LIMITS.deploymentUnits)) return;
  throw new TypeError(
    `connect: the deployment has ${name.length} characters. Give a name of 1 to ${LIMITS.deploymentUnits}, such as a release id or a git commit.`,
  );
}
