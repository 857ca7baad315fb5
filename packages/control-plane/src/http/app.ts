import { randomUUID } from "node:crypto";
import { Hono, type Context } from "hono";
import { ServiceError } from "../ports/service-error.ts";
import { allowOrigin, preflight } from "./cors.ts";
import type { Exchange, Handler, HttpDeps, HttpEnv } from "./deps.ts";
import { guardLocal } from "./local-guard.ts";
import { queryRoutes } from "./query-routes.ts";
import { failure, publicError } from "./reply.ts";
import { methodsOf, ROUTES, type RouteId, type RouteSpec } from "./routes.ts";
import { runRoutes } from "./run-routes.ts";
import { serviceRoutes } from "./service-routes.ts";
import { threadRoutes } from "./thread-routes.ts";

const METRICS: RouteId = "metrics";
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** The routes of the public port. */
export function publicRoutes({ local, metricsApart }: Pick<HttpDeps, "local" | "metricsApart">): RouteSpec[] {
  return ROUTES.filter((route) => (local || !route.local) && !(metricsApart && route.id === METRICS));
}

/** The routes of the port for metrics, where they have one of their own. */
export const METRICS_ROUTES: readonly RouteSpec[] = ROUTES.filter(({ id }) => id === METRICS);

/** The HTTP interface as one Hono app. It holds no state of its own but open streams. */
export function createHttpApp(deps: HttpDeps, served: readonly RouteSpec[] = publicRoutes(deps)): Hono<HttpEnv> {
  const handlers: Record<RouteId, Handler> = {
    ...queryRoutes(deps),
    ...runRoutes(deps),
    ...threadRoutes(deps),
    ...serviceRoutes(deps, served),
  };
  const app = new Hono<HttpEnv>();
  for (const route of served) {
    const handle = guarded(deps, route, handlers[route.id]);
    app.on(route.method, route.path, (c) => answer(deps, c, handle));
  }
  // Only what no route took arrives here, so that the routes themselves pass through nothing but their handler.
  app.notFound((c) => answer(deps, c, (exchange) => unrouted(exchange, served)));
  return app;
}

async function answer(deps: HttpDeps, c: Context<HttpEnv>, handle: Handler): Promise<Response> {
  const requestId = requestIdOf(c.req.header("X-Request-Id"));
  const headers = { "X-Request-Id": requestId, "X-Content-Type-Options": "nosniff" };
  const exchange: Exchange = { c, requestId, headers };
  allowOrigin(exchange, deps.corsOrigins);
  try {
    return await handle(exchange);
  } catch (thrown) {
    // Nobody is there to read an answer, and a wait that ended for this reason has not failed.
    if (c.req.raw.signal.aborted) return new Response(null, { status: 499, headers });
    return failure(exchange, publicError(thrown, requestId, deps.log));
  }
}

export function requestIdOf(given: string | undefined): string {
  return given !== undefined && REQUEST_ID.test(given) ? given : `req_${randomUUID()}`;
}

function guarded(deps: HttpDeps, route: RouteSpec, handle: Handler): Handler {
  if (!route.local && !route.streams) return handle;
  return (exchange) => {
    // A GET route is also given HEAD requests, which would open a stream that nobody reads.
    if (exchange.c.req.method === "HEAD") throw notAllowed(exchange, [route.method]);
    if (route.local) guardLocal(exchange, deps);
    return handle(exchange);
  };
}

function unrouted(exchange: Exchange, served: readonly RouteSpec[]): Response {
  const { c } = exchange;
  const methods = methodsOf(c.req.path, served);
  if (methods.length === 0)
    throw new ServiceError("not_found", `No such route: ${c.req.method} ${c.req.path}. GET /openapi.json lists them.`);
  const early = preflight(exchange, methods);
  if (early) return early;
  throw notAllowed(exchange, methods);
}

function notAllowed({ c, headers }: Exchange, methods: readonly string[]): ServiceError {
  headers["Allow"] = methods.join(", ");
  return new ServiceError("method_not_allowed", `${c.req.path} takes ${methods.join(", ")} only.`);
}
