import { createHash, timingSafeEqual } from "node:crypto";
import { sleep } from "@patchbay/kit/time";
import { ServiceError, standardError } from "@patchbay/engine/ports/service-error";
import { baseUrl, type Exchange, type Handler, json, text } from "../kernel/exchange.ts";
import { requireRuntimeKey } from "./caller.ts";
import type { HttpDeps } from "./deps.ts";
import { bearer, type KeylessDeps } from "./keyless-caller.ts";
import type { RouteSpec } from "./routes.ts";

/** A store that takes longer counts as unavailable: a statement can wait minutes for a hanging database. */
const READY_MS = 2_000;

const METADATA_SECONDS = 300;

/** Routes about the service itself. */
export function serviceRoutes(
  deps: KeylessDeps & Pick<HttpDeps, "authenticate" | "version" | "ready" | "metrics" | "metricsToken" | "limits">,
  served: readonly RouteSpec[],
): Record<"connect" | "healthz" | "readyz" | "metrics" | "openapi" | "resourceMetadata", Handler> {
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

    async resourceMetadata(exchange) {
      const { keyless } = deps;
      const { c, headers } = exchange;
      const agentId = c.req.param("agent_id") ?? "";
      const opens = keyless && (await keyless.opens(agentId));
      // A change of the setting must soon reach the clients, at once where they would not find the endpoint.
      headers["Cache-Control"] ??= opens ? `max-age=${METADATA_SECONDS}` : "no-store";
      if (!opens) throw new ServiceError("not_found", "This agent has no such metadata: its requests need an API key.");
      const { issuer, scope } = keyless;
      return json(exchange, 200, {
        resource: `${baseUrl(exchange, deps)}/agents/${agentId}/mcp`,
        authorization_servers: [issuer],
        bearer_methods_supported: ["header"],
        ...(scope !== undefined && { scopes_supported: [scope] }),
      });
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

/** Throws `authentication_failed` without the operator's metrics token, if one is configured. */
function requireMetricsToken({ c }: Exchange, { metricsToken }: Pick<HttpDeps, "metricsToken">): void {
  if (metricsToken === undefined) return;
  const given = bearer(c.req.header("Authorization"));
  if (given !== undefined && timingSafeEqual(digest(given), digest(metricsToken))) return;
  throw standardError("authentication_failed");
}

/** A constant-time comparison needs values of equal length. */
const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
