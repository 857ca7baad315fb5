import { Hono } from "hono";
import { codeOf } from "../kernel/errors.ts";
import type { Exchange, Handler, HttpEnv } from "../kernel/exchange.ts";
import { mountRoutes } from "../kernel/routes.ts";
import { createHandlers } from "../kernel/handlers.ts";
import { createHttpServer } from "../kernel/server.ts";
import { approvalRoutes } from "./approval-routes.ts";
import { checkRoutes } from "./check-routes.ts";
import { clientTokenRoutes } from "./client-token-routes.ts";
import type { HttpDeps } from "./deps.ts";
import { allowOrigin, type Guarded, guardLocal, preflight } from "./origins.ts";
import { mcpRoutes } from "./mcp/mcp-routes.ts";
import { queryRoutes } from "./query-routes.ts";
import { retryRoutes } from "./retry-routes.ts";
import { type RouteId, ROUTES, type RouteSpec } from "./routes.ts";
import { runRoutes, threadRoutes } from "./run-routes.ts";
import { serviceRoutes } from "./service-routes.ts";

const METRICS: RouteId = "metrics";

/** The public port's routes. */
export function publicRoutes({ local, metricsApart }: Pick<HttpDeps, "local" | "metricsApart">): RouteSpec[] {
  return ROUTES.filter((route) => (local || route.access !== "access") && !(metricsApart && route.id === METRICS));
}

/** The query API as a Hono app. Its only state is the list of open streams. */
export function createHttpApp(deps: HttpDeps, served: readonly RouteSpec[] = publicRoutes(deps)): Hono<HttpEnv> {
  const handlers: Record<RouteId, Handler> = {
    ...queryRoutes(deps),
    ...mcpRoutes(deps),
    ...runRoutes(deps),
    ...retryRoutes(deps),
    ...threadRoutes(deps),
    ...approvalRoutes(deps),
    ...checkRoutes(deps),
    ...loadedLater(["listModels", "getModel", "createChatCompletion", "createResponse"], async () =>
      (await import("./openai/routes.ts")).openAiRoutes(deps),
    ),
    ...loadedLater(["uiStream", "resumeUiStream", "stopUiStream", "uiMessages"], async () =>
      (await import("./ui-stream/routes.ts")).uiStreamRoutes(deps),
    ),
    ...clientTokenRoutes(deps),
    ...serviceRoutes(deps, served),
  };
  const app = new Hono<HttpEnv>();
  const routes = served.map((route) => ({ ...route, handle: guarded(deps, route, handlers[route.id]) }));
  mountRoutes(
    app,
    {
      name: "query",
      routes,
      metrics: deps.metrics,
      log: deps.log,
      documentPath: "/openapi.json",
      begin(exchange) {
        // HTTP lets shared caches store the response to an X-API-Key. Streams set their own rule.
        if (hasCredential(exchange)) exchange.headers["Cache-Control"] = "no-store";
        return allowOrigin(exchange, deps.corsOrigins, deps.keyless);
      },
      answerOtherMethod: preflight,
      mapError(exchange, thrown) {
        if (codeOf(thrown) === "authentication_failed") challenge(exchange);
        return thrown;
      },
      async failure(exchange, thrown) {
        if (!OPENAI.test(exchange.c.req.path)) return undefined;
        return (await import("./openai/errors.ts")).openAiFailure(exchange, thrown, deps.log);
      },
    },
    (answer) => app.notFound(answer),
  );
  return app;
}

/** Also paths that do not exist: their clients read only errors of OpenAI's form. */
const OPENAI = /^\/agents\/[^/]+\/v1(?:\/|$)/;

/** An adapter's handlers, loaded with its first request: agents without such clients do not pay for its schemas. */
function loadedLater<Id extends RouteId>(
  ids: readonly Id[],
  load: () => Promise<Record<Id, Handler>>,
): Record<Id, Handler> {
  let loading: Promise<Record<Id, Handler>> | undefined;
  const handlers = ids.map((id): [Id, Handler] => [id, async (exchange) => (await (loading ??= load()))[id](exchange)]);
  return Object.fromEntries(handlers) as Record<Id, Handler>;
}

function guarded(deps: Guarded, { access }: RouteSpec, handle: Handler): Handler {
  if (access !== "access") return handle;
  return (exchange) => {
    guardLocal(exchange, deps);
    return handle(exchange);
  };
}

const hasCredential = ({ c }: Exchange): boolean =>
  ["X-API-Key", "Authorization", "X-Patchbay-Caller"].some((name) => c.req.header(name) !== undefined);

function challenge({ c, headers }: Exchange): void {
  const scheme = c.req.path.startsWith("/agents/") ? "ApiKey" : "Bearer";
  headers["WWW-Authenticate"] ??= `${scheme} realm="patchbay"`;
}

/** Serves only metrics, on their own port. Disposing closes the port. */
export async function serveMetrics(
  deps: HttpDeps,
  options: { host: string; port: number },
): Promise<AsyncDisposable & { port: number }> {
  const routes = ROUTES.filter(({ id }) => id === METRICS);
  const app = createHttpApp(deps, routes);
  const { log } = deps;
  const handlers = createHandlers({ app, upgrade: (_request, socket) => socket.destroy(), log });
  const server = createHttpServer({ handlers, log });
  const { port } = await server.listen({ ...options, portOption: "--metrics-port" });
  return { port, [Symbol.asyncDispose]: () => server.close() };
}
