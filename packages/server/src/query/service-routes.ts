import { sleep } from "@patchbay/kit/time";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { askedAddress, type Exchange, type Handler, json, text } from "../kernel/exchange.ts";
import { requireMetricsToken, requireRuntimeKey } from "./caller.ts";
import type { HttpDeps } from "./deps.ts";
import type { RouteSpec } from "./routes.ts";

/** A store that takes longer counts as unavailable: a statement can wait minutes for a hanging database. */
const READY_MS = 2_000;

type Addressed = Pick<HttpDeps, "publicUrl" | "trustProxy">;

/** Routes about the service itself. */
export function serviceRoutes(
  deps: Addressed & Pick<HttpDeps, "authenticate" | "version" | "ready" | "metrics" | "metricsToken" | "limits">,
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
      if (await Promise.race([deps.ready(), sleep(READY_MS, { ref: false })]))
        return json(exchange, 200, { status: "ready" });
      throw new ServiceError(
        "unavailable",
        "Not ready: the store or the bus is unavailable, no file descriptor is free, or the process is stopping.",
      );
    },

    async metrics(exchange) {
      requireMetricsToken(exchange, deps);
      return text(exchange, await deps.metrics.read(), deps.metrics.contentType);
    },

    async openapi(exchange) {
      // With all body schemas, most of which only the document needs.
      const { queryDocument } = await import("./openapi.ts");
      const { version, limits } = deps;
      return json(
        exchange,
        200,
        queryDocument({ version, serverUrl: baseUrl(exchange, deps), routes: served, limits }),
      );
    },
  };
}

/** The address at which clients reach the service. */
export const baseUrl = (exchange: Exchange, { publicUrl, trustProxy }: Addressed): string =>
  publicUrl ?? askedAddress(exchange, { trustProxy }).origin;
