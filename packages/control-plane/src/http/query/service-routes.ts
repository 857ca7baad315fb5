import { setTimeout as wait } from "node:timers/promises";
import { ServiceError } from "../../ports/service-error.ts";
import { type Exchange, type Handler, json, text } from "../kernel/exchange.ts";
import { requireMetricsToken, requireRuntimeKey } from "./caller.ts";
import type { HttpDeps } from "./deps.ts";
import { queryDocument } from "./openapi.ts";
import type { RouteSpec } from "./routes.ts";

/** A store that takes longer counts as unavailable: statements to a hanging database can wait for minutes. */
const READY_MS = 2_000;

/** Routes about the service itself. */
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
        "Not ready: the store or the bus is unavailable, or the process is stopping.",
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
        queryDocument({
          version: deps.version,
          serverUrl: baseUrl(exchange, deps),
          routes: served,
          limits: deps.limits,
        }),
      ),
  };
}

/** The address under which clients reach the service. */
export function baseUrl({ c }: Exchange, { publicUrl, trustProxy }: HttpDeps): string {
  if (publicUrl !== undefined) return publicUrl;
  const url = new URL(c.req.url);
  if (!trustProxy) return url.origin;
  const host = c.req.header("X-Forwarded-Host") ?? url.host;
  const scheme = c.req.header("X-Forwarded-Proto") ?? url.protocol.slice(0, -1);
  return `${scheme}://${host}`;
}
