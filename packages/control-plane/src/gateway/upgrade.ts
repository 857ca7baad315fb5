import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type ErrorBody, type HttpErrorCode, LIMITS, MESSAGES } from "@patchbay/protocol";
import { type WebSocket, WebSocketServer } from "ws";
import type { Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";
import type { KeyQuota } from "./key-quota.ts";

/** A runtime key that was let in. */
export interface RuntimeKey {
  keyId: string;
  agentId: string;
  orgId: string;
}

/** Looks a runtime key up; undefined when it is unknown, revoked, or of another kind. */
export type Authenticate = (secret: string) => Promise<RuntimeKey | undefined>;

export interface UpgradeOptions {
  authenticate: Authenticate;
  /** False while the control plane is stopping. */
  accepts: () => boolean;
  accepted: (socket: WebSocket, transport: Duplex, key: RuntimeKey) => void;
  quota: KeyQuota;
  metrics: Pick<Metrics, "runtimeRefused">;
  log: Log;
}

/** Answers upgrade requests: a refusal is an HTTP error, before there is a WebSocket. */
export function createUpgrade({ authenticate, accepts, accepted, quota, metrics, log }: UpgradeOptions) {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: LIMITS.frameBytes,
    maxFragments: 64,
    // A frame of the largest size may come in very small pieces through a poor network.
    maxBufferedChunks: 16_384,
  });

  async function admit(request: IncomingMessage): Promise<RuntimeKey | Refusal> {
    if (request.url?.split("?")[0] !== "/functions/connect") return refusal(404, "not_found", "Not found");
    if (request.headers.origin !== undefined)
      return refusal(403, "invalid_request", "Browsers do not connect functions: no Origin header is taken here");
    if (!accepts()) return refusal(503, "unavailable", "The control plane is stopping");
    const secret = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
    const key = secret === undefined ? undefined : await authenticate(secret);
    if (!key) return refusal(401, "authentication_failed", MESSAGES.authentication_failed);
    const wanted = request.headers["x-agent-id"];
    if (wanted !== undefined && wanted !== key.agentId) return refusal(403, "agent_mismatch", MESSAGES.agent_mismatch);
    return key;
  }

  /** Asked in the same turn in which the socket is accepted: of connections that come at once, none slips through. */
  function overQuota({ keyId, agentId }: RuntimeKey): Refusal | undefined {
    const over = quota.refuse(keyId);
    if (!over) return undefined;
    const { limit, message, retryAfterSeconds, first } = over;
    metrics.runtimeRefused(limit);
    if (first) log.warn("refused a runtime", { agentId, keyId, fault: limit, reason: message });
    return { ...refusal(429, "rate_limited", message), retryAfterSeconds };
  }

  return function handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const dead = (): void => void socket.destroy();
    socket.on("error", dead);
    admit(request)
      .catch((error: unknown) => {
        log.error("a runtime key could not be looked up", { error });
        return refusal(503, "unavailable", "The key could not be looked up; try again");
      })
      .then((answer) => {
        if ("status" in answer) return refuse(request, socket, answer);
        if (socket.destroyed) return undefined;
        const over = overQuota(answer);
        if (over) return refuse(request, socket, over);
        socket.off("error", dead);
        return server.handleUpgrade(request, socket, head, (webSocket) => {
          quota.add(answer.keyId, webSocket);
          accepted(webSocket, socket, answer);
        });
      })
      .catch((error: unknown) => {
        log.error("an upgrade failed", { error });
        socket.destroy();
      });
  };
}

interface Refusal {
  status: number;
  code: HttpErrorCode;
  errorMessage: string;
  retryAfterSeconds?: number;
}

function refusal(status: number, code: HttpErrorCode, errorMessage: string): Refusal {
  return { status, code, errorMessage, ...(status === 503 && { retryAfterSeconds: 1 }) };
}

const REASONS: Record<number, string> = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  429: "Too Many Requests",
  503: "Service Unavailable",
};

function refuse(
  request: IncomingMessage,
  socket: Duplex,
  { status, code, errorMessage, retryAfterSeconds }: Refusal,
): void {
  const own = String(request.headers["x-request-id"] ?? "");
  const requestId = /^[A-Za-z0-9._-]{1,128}$/.test(own) ? own : randomUUID();
  const body = JSON.stringify({ success: false, errorMessage, code, requestId } satisfies ErrorBody);
  const lines = [
    `HTTP/1.1 ${status} ${REASONS[status]}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    ...(retryAfterSeconds === undefined ? [] : [`Retry-After: ${retryAfterSeconds}`]),
    "Connection: close",
  ];
  socket.once("finish", () => socket.destroy());
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
}
