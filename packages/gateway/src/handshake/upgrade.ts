import { randomUUID } from "@patchbay/kit/time";
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type ErrorBody, type HttpErrorCode, LIMITS, MESSAGES } from "@patchbay/protocol";
import { type WebSocket, WebSocketServer } from "ws";
import type { RuntimeRefusal } from "@patchbay/engine/ports/metrics";
import type { GatewayContext } from "../context.ts";
import { type KeyQuota, type RuntimeKey, senderOf } from "./runtime-keys.ts";

const CONNECT_PATH = "/functions/connect";

/** Looks up a runtime key; undefined when it is unknown, revoked, or another kind of key. */
export type Authenticate = (secret: string) => Promise<RuntimeKey | undefined>;

interface UpgradeOptions extends Pick<GatewayContext, "metrics" | "log"> {
  authenticate: Authenticate;
  /** False while the control plane is stopping. */
  accepts: () => boolean;
  accepted: (socket: WebSocket, transport: Duplex, key: RuntimeKey) => void;
  quota: KeyQuota;
}

/**
 * Answers runtimes' upgrade requests. A refusal is an HTTP error, not a WebSocket close: it costs less, and the runtime
 * gets a status and `Retry-After`.
 */
export function createUpgrade({ authenticate, accepts, accepted, quota, metrics, log }: UpgradeOptions) {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: LIMITS.frameBytes,
    maxFragments: 64,
    // On a poor network the largest frame may arrive in very small pieces.
    maxBufferedChunks: 16_384,
  });

  async function admit(request: IncomingMessage): Promise<RuntimeKey | Refusal> {
    if (request.url?.split("?")[0] !== CONNECT_PATH)
      return { status: 404, code: "not_found", errorMessage: "Not found" };
    if (request.headers.origin !== undefined)
      return refusal(
        403,
        "invalid_request",
        "Browsers cannot connect functions: a request with an Origin header is refused",
      );
    if (!accepts()) return refusal(503, "unavailable", "The control plane is stopping");
    const secret = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
    const key = secret === undefined ? undefined : await authenticate(secret);
    if (!key) return refusal(401, "authentication_failed", MESSAGES.authentication_failed);
    const agentId = request.headers["x-agent-id"];
    if (agentId !== undefined && agentId !== key.agentId)
      return { ...refusal(403, "agent_mismatch", MESSAGES.agent_mismatch), key };
    return key;
  }

  /**
   * Called in the same tick that accepts the socket: with an await between, simultaneous connections could exceed the
   * quota.
   */
  function quotaRefusal(key: RuntimeKey): Refusal | undefined {
    const refused = quota.refuse(key.keyId);
    if (!refused) return undefined;
    const { limit: reason, message: errorMessage, retryAfterSeconds, first } = refused;
    if (first) log.warn("refused a runtime", { ...senderOf(key), fault: reason, reason: errorMessage });
    return { status: 429, code: "rate_limited", errorMessage, reason, retryAfterSeconds, key };
  }

  /** One line at info, as for every request: a runtime reports its request id to its owner. */
  function turnAway(request: IncomingMessage, socket: Duplex, refused: Refusal): void {
    const requestId = requestIdOf(request);
    const { status, code, reason, key } = refused;
    const route = status === 404 ? {} : { route: CONNECT_PATH };
    if (reason !== undefined) metrics.runtimeRefused(reason);
    log.info("request", { requestId, method: "GET", ...route, status, code, ...(key && senderOf(key)) });
    refuse(socket, refused, requestId);
  }

  return function handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const destroy = (): void => void socket.destroy();
    socket.on("error", destroy);
    admit(request)
      .catch((error: unknown) => {
        log.error("runtime key lookup failed", { error });
        return refusal(503, "unavailable", "The runtime key could not be checked. Try again.");
      })
      .then((answer) => {
        if ("status" in answer) return turnAway(request, socket, answer);
        if (socket.destroyed) return undefined;
        const refused = quotaRefusal(answer);
        if (refused) return turnAway(request, socket, refused);
        socket.off("error", destroy);
        return server.handleUpgrade(request, socket, head, (webSocket) => {
          quota.add(answer.keyId, webSocket);
          accepted(webSocket, socket, answer);
        });
      })
      .catch((error: unknown) => {
        log.error("upgrade failed", { error });
        socket.destroy();
      });
  };
}

interface Refusal {
  status: number;
  code: HttpErrorCode;
  errorMessage: string;
  /** Absent for another path. */
  reason?: RuntimeRefusal;
  /** The key, if it is a valid one. */
  key?: RuntimeKey;
  retryAfterSeconds?: number;
}

function refusal(status: number, code: HttpErrorCode & RuntimeRefusal, errorMessage: string): Refusal {
  return { status, code, errorMessage, reason: code, ...(status === 503 && { retryAfterSeconds: 1 }) };
}

function requestIdOf({ headers }: IncomingMessage): string {
  const own = String(headers["x-request-id"] ?? "");
  return /^[A-Za-z0-9._-]{1,128}$/.test(own) ? own : randomUUID();
}

function refuse(socket: Duplex, { status, code, errorMessage, retryAfterSeconds }: Refusal, requestId: string): void {
  const body = JSON.stringify({ success: false, errorMessage, code, requestId } satisfies ErrorBody);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    ...(retryAfterSeconds === undefined ? [] : [`Retry-After: ${retryAfterSeconds}`]),
    "Connection: close",
  ];
  socket.once("finish", () => socket.destroy());
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
}
