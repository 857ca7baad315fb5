import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { DEFAULT_LIMITS, ErrorBody, LIMITS, parseJson, type PlaneFrame } from "@patchbay/protocol";
import { WebSocket } from "ws";
import type { Log } from "../log.ts";
import { parsePlaneFrame } from "./frames.ts";
import type { Target } from "./target.ts";

/** One WebSocket to a control plane, from dialling to its end. */
export interface Link {
  /** True from the control plane's welcome until either side closes. */
  readonly open: boolean;
  /** Frames a second that the control plane takes unasked; it drops more. */
  readonly framesPerSecond: number;
  /** Does nothing on a link that is not open. */
  send(text: string): void;
  /** As `send`, but drops what would pile up behind a slow network, or what is more than half of `framesPerSecond`. */
  sendIfIdle(text: string): void;
  close(): void;
}

/** Why a link ended: `status` when the control plane refused the upgrade, else the WebSocket close code. */
export interface LinkEnd {
  status?: number;
  code: number;
  reason: string;
  /** How long the control plane asks to wait after a refusal for a limit. */
  retryAfterMs?: number;
  /** How long the link was open; 0 when it was never welcomed. */
  openMs: number;
}

export interface LinkEvents {
  welcomed(link: Link, agentId: string): void;
  frame(link: Link, frame: PlaneFrame): void;
  ended(link: Link, end: LinkEnd): void;
}

const HANDSHAKE_MS = 10_000;
const MISSES = 2;
const IDLE_BYTES = 1_048_576;

export function openLink(target: Target, hello: string, events: LinkEvents, log: Log): Link {
  const socket = new WebSocket(target.address, {
    headers: target.headers,
    perMessageDeflate: false,
    handshakeTimeout: HANDSHAKE_MS,
    maxPayload: LIMITS.frameBytes,
    maxFragments: 64,
    maxBufferedChunks: 16_384,
  });
  let transport: Socket | undefined;
  let beat: NodeJS.Timeout | undefined;
  let gathering = false;
  let framesPerSecond = DEFAULT_LIMITS.framesPerSecond;
  let unasked = { second: 0, count: 0 };
  let welcomedAt: number | undefined;
  let refusal: Pick<LinkEnd, "status" | "retryAfterMs"> = {};
  let failure = "";
  const impatience = setTimeout(() => socket.terminate(), 2 * HANDSHAKE_MS);

  const link: Link = {
    get open() {
      return welcomedAt !== undefined && socket.readyState === WebSocket.OPEN;
    },
    send(text) {
      if (!link.open) return;
      gather();
      socket.send(text);
    },
    get framesPerSecond() {
      return framesPerSecond;
    },
    sendIfIdle(text) {
      const second = Math.floor(performance.now() / 1_000);
      if (unasked.second !== second) unasked = { second, count: 0 };
      if (socket.bufferedAmount < IDLE_BYTES && unasked.count++ < framesPerSecond / 2) link.send(text);
    },
    close() {
      if (socket.readyState === WebSocket.OPEN) socket.close(1000);
      else socket.terminate();
    },
  };

  /** What all that follows from one event sends leaves in one write: the next tick comes once nothing else is due. */
  function gather(): void {
    if (gathering || !transport) return;
    gathering = true;
    transport.cork();
    process.nextTick(() => {
      gathering = false;
      transport?.uncork();
    });
  }

  function welcome(frame: Extract<PlaneFrame, { type: "welcome" }>): void {
    if (welcomedAt !== undefined) return;
    clearTimeout(impatience);
    welcomedAt = performance.now();
    framesPerSecond = frame.framesPerSecond ?? framesPerSecond;
    beat = startHeartbeat(socket, () => transport?.bytesRead, frame.heartbeatMs, log);
    events.welcomed(link, frame.agentId);
  }

  socket.on("upgrade", (response) => (transport = response.socket));
  socket.on("open", () => socket.send(hello));
  socket.on("message", (data, isBinary) => {
    const parsed = isBinary ? binaryFrame : parsePlaneFrame((data as Buffer).toString());
    if (!parsed.ok) log.warn("ignored a frame of the control plane", { fault: parsed.message });
    else if (parsed.frame.type === "welcome") welcome(parsed.frame);
    else if (link.open) events.frame(link, parsed.frame);
  });
  socket.on("unexpected-response", (_, response) => {
    refusal = refusalOf(response);
    void readReason(response).then((reason) => {
      failure = reason;
      socket.terminate();
    });
  });
  socket.on("error", (error) => (failure ||= error.message));
  socket.on("close", (code, reason) => {
    clearTimeout(impatience);
    clearInterval(beat);
    const openMs = welcomedAt === undefined ? 0 : performance.now() - welcomedAt;
    events.ended(link, { ...refusal, code, reason: String(reason) || failure, openMs });
  });
  return link;
}

/** A proxy in front may ask for any wait: a runtime must not stay away for it. */
const LONGEST_RETRY_AFTER_S = 60;

function refusalOf({ statusCode, headers }: IncomingMessage): Pick<LinkEnd, "status" | "retryAfterMs"> {
  const seconds = Math.min(LONGEST_RETRY_AFTER_S, Number(headers["retry-after"]));
  const asksToWait = statusCode === 429 && seconds > 0;
  return {
    ...(statusCode !== undefined && { status: statusCode }),
    ...(asksToWait && { retryAfterMs: seconds * 1000 }),
  };
}

const REFUSAL_BYTES = 4_096;
const RefusalBody = ErrorBody.pick({ errorMessage: true });

/** The sentence of a refused upgrade; empty where its body has none. Never rejects. */
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

const binaryFrame = { ok: false, message: "is binary" } as const;

/**
 * Pings, and ends the link after two pings that brought nothing back. Bytes are counted below the WebSocket so that one large
 * frame on a slow network counts as life; ticks are counted instead of time so that a suspended process does not blame its peer.
 */
function startHeartbeat(
  socket: WebSocket,
  bytesRead: () => number | undefined,
  everyMs: number,
  log: Log,
): NodeJS.Timeout {
  let seen = bytesRead();
  let misses = 0;
  socket.ping();
  return setInterval(() => {
    const now = bytesRead();
    misses = now === seen ? misses + 1 : 0;
    seen = now;
    if (misses < MISSES) return socket.ping();
    log.warn("the control plane fell silent");
    socket.terminate();
  }, everyMs);
}
