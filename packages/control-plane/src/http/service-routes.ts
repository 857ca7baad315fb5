import { setTimeout as wait } from "node:timers/promises";
import { ServiceError } from "../ports/service-error.ts";
import { requireMetricsToken, requireRuntimeKey } from "./caller.ts";
import type { Exchange, Handler, HttpDeps } from "./deps.ts";
import { openApiDocument } from "./openapi.ts";
import { json, text } from "./reply.ts";
import type { RouteSpec } from "./routes.ts";

/** A store that answers later is out of reach to whoever asks for it: a database that stands still lets a query wait for long. */
const READY_MS = 2_000;

/** What operators and tools ask of the service itself. */
export function serviceRoutes(
  deps: HttpDeps,
  served: readonly RouteSpec[],
): Record<"connect" | "healthz" | "readyz" | "metrics" | "openapi", Handler> {
  return {
    async connect(exchange) {
      await requireRuntimeKey(exchange, deps.authenticate);
      throw new ServiceError(
        "invalid_request",
        "A runtime connects here by WebSocket; use connect() or `patchbay connect`.",
      );
    },

    healthz: (exchange) => json(exchange, 200, { status: "ok", version: deps.version }),

    async readyz(exchange) {
      if (await Promise.race([deps.ready(), wait(READY_MS, false, { ref: false })]))
        return json(exchange, 200, { status: "ready" });
      throw new ServiceError(
        "unavailable",
        "Not ready: the store or the bus is out of reach, or the process is stopping.",
      );
    },

    async metrics(exchange) {
      requireMetricsToken(exchange, deps);
      return text(exchange, await deps.metrics.read(), deps.metrics.contentType);
    },

    openapi: (exchange) =>
      json(
        exchange,
        200,
        openApiDocument({
          version: deps.version,
          serverUrl: baseUrl(exchange, deps),
          routes: served,
          limits: deps.limits,
        }),
      ),
  };
}

function baseUrl({ c }: Exchange, { publicUrl, trustProxy }: HttpDeps): string {
  if (publicUrl !== undefined) return publicUrl;
  const url = new URL(c.req.url);
  if (!trustProxy) return url.origin;
  const host = c.req.header("X-Forwarded-Host") ?? url.host;
  const scheme = c.req.header("X-Forwarded-Proto") ?? url.protocol.slice(0, -1);
  return `${scheme}://${host}`;
}
