import { present } from "@patchbay/kit";
import { CONSOLE_ROUTES, type ConsoleRoute, type ConsoleRouteName } from "@patchbay/protocol/console";
import { Hono } from "hono";
import type { z } from "zod";
import { createTokenCheck } from "@patchbay/server/accounts/authenticator";
import { AdminError } from "@patchbay/server/accounts/admin-error";
import { receiveJson } from "@patchbay/server/kernel/body";
import { type Exchange, type HttpEnv, json, noContent } from "@patchbay/server/kernel/exchange";
import { asStranger } from "@patchbay/engine/ports/fair-queue";
import { mountRoutes, type Route } from "@patchbay/server/kernel/routes";
import { invalid, ServiceError } from "@patchbay/engine/ports/service-error";
import type { Engine } from "@patchbay/store/engine";
import { accessRoutes } from "./access/routes.ts";
import { accessViewRoutes } from "./access/view-routes.ts";
import { linkRoutes } from "./account/link-routes.ts";
import { baseUrlOf, createSignIn, sessionRoutes, type SignIn } from "./account/routes.ts";
import type { Visitor } from "./account/sessions.ts";
import { requireSameOrigin } from "./account/transport.ts";
import { agentRoutes, credentialRoutes } from "./agents/routes.ts";
import { analyticsRoutes } from "./analytics/routes.ts";
import { approvalRoutes } from "./approvals/routes.ts";
import { auditRoutes } from "./audit/routes.ts";
import { creditRoutes } from "./credits/routes.ts";
import { functionRoutes } from "./functions/routes.ts";
import { type Actor, hasRole, requireRouteScopes, requireToken, serviceTokenOf } from "./actors.ts";
import { agentOf, type ConsoleDeps, type ConsoleHandlers, notFound } from "./handler.ts";
import { liveRoutes } from "./live/routes.ts";
import { memberRoutes } from "./members/routes.ts";
import { consoleDocument } from "./openapi.ts";
import { playgroundRoutes } from "./playground/routes.ts";
import { type ConsoleQueries, createConsoleQueries } from "./queries.ts";
import { createRepeats } from "./repeats.ts";
import { callRoutes } from "./runs/call-routes.ts";
import { runRoutes } from "./runs/routes.ts";
import { viewRoutes } from "./runs/view-routes.ts";
import { serviceTokenRoutes } from "./service-tokens/routes.ts";
import { threadRoutes } from "./threads/routes.ts";
import { webhookRoutes } from "./webhooks/routes.ts";

type AnyHandler = (request: object) => Promise<unknown>;

const DOCUMENT_PATH = "/api/openapi.json";

/** Dependencies of the API. `engine` is the store's. `queries`: by default those on the engine. */
export type ConsoleApiDeps = Omit<ConsoleDeps, "queries"> & { engine: Engine; queries?: ConsoleQueries };

/** The console's API under `/api`. */
export function consoleApi({
  engine,
  queries = createConsoleQueries(engine),
  ...given
}: ConsoleApiDeps): Hono<HttpEnv> {
  const deps = { ...given, queries };
  const app = new Hono<HttpEnv>();
  const signIn = createSignIn(deps);
  const checkToken = createTokenCheck({ ...deps, serviceTokens: deps.store.serviceTokens });
  const handlers = consoleHandlers(deps, signIn) as Record<ConsoleRouteName, AnyHandler>;
  const once = createRepeats({ ...deps, keys: deps.store.requestKeys });
  const served = Object.entries(CONSOLE_ROUTES) as [ConsoleRouteName, ConsoleRoute][];
  const routes = served.map(([name, route]): Route => {
    const [method, path] = name.split(" ") as [Route["method"], string];
    const guard = { deps, signIn, checkToken, once, name, route, handle: handlers[name] };
    return {
      method,
      path: `/api${path}`,
      streams: isStream(route),
      handle: (exchange) => serve(exchange, guard),
    };
  });
  const describe: Route = {
    method: "GET",
    path: DOCUMENT_PATH,
    handle: (exchange) =>
      json(exchange, 200, consoleDocument({ version: deps.version, serverUrl: baseUrlOf(exchange, deps) })),
  };
  mountRoutes(
    app,
    {
      name: "console",
      routes: [...routes, describe],
      metrics: deps.metrics,
      log: deps.log,
      documentPath: DOCUMENT_PATH,
      headers: { "Cache-Control": "no-store" },
      mapError: (_exchange, thrown) => (thrown instanceof AdminError ? ofAdmin(thrown) : thrown),
    },
    (answer) => app.notFound(answer),
  );
  return app;
}

interface Guarded {
  deps: ConsoleDeps;
  signIn: SignIn;
  checkToken: ReturnType<typeof createTokenCheck>;
  once: ReturnType<typeof createRepeats>;
  name: ConsoleRouteName;
  route: ConsoleRoute;
  handle: AnyHandler;
}

/** Checks the route's requirements, in a fixed order, before its handler runs. */
async function serve(exchange: Exchange, guarded: Guarded): Promise<Response> {
  const { deps, signIn, checkToken, route } = guarded;
  const secret = route.needs === "public" ? undefined : serviceTokenOf(exchange);
  // Another site's page cannot add the header, and cannot use a token otherwise: the origin needs no check.
  if (secret !== undefined) {
    const by = await requireToken(secret, checkToken);
    Object.assign(exchange.facts, { keyId: by.actorId, ...present({ keyLabel: by.label }) });
    requireRouteScopes(by, route);
    return deps.within(by.orgId, () => handled(exchange, guarded, by));
  }
  const visitor = route.needs === "public" ? undefined : await signIn.sessions.require(exchange);
  if (isUnsafe(exchange)) requireSameOrigin(exchange, deps);
  if (!visitor) return handled(exchange, guarded, undefined);
  exchange.facts.memberId = visitor.by.memberId;
  requireRole(visitor, route);
  if (route.confirmed && visitor.hasPassword && !visitor.confirmed)
    throw new ServiceError("confirmation_required", "Give your password again, then repeat this request.");
  return deps.within(visitor.by.orgId, () => handled(exchange, guarded, visitor.by));
}

async function handled(exchange: Exchange, guarded: Guarded, by: Actor | undefined): Promise<Response> {
  const { deps, route, handle, once } = guarded;
  const { c } = exchange;
  const query = route.query && parsed(route.query, c.req.query());
  const body = route.body && parsed(route.body, await receiveJson(exchange, { exact: true }));
  const params: Record<string, string> = c.req.param();
  const agentId = params["agent_id"];
  async function work(): Promise<unknown> {
    const agent = by && agentId !== undefined ? await agentOf(deps.store, by.orgId, agentId) : undefined;
    if (agent) exchange.facts.agentId = agent.agentId;
    const request = { params, query, body, by, agent, exchange, signal: c.req.raw.signal };
    return by
      ? once(exchange, { ...guarded, by, params, body }, (again) => handle({ ...request, again }))
      : handle(request);
  }
  // Reads take turns between organisations. Streams do not: they would occupy their turn for minutes.
  const takesTurn = by && !isUnsafe(exchange) && !isStream(route);
  const answered = await (takesTurn ? deps.reads.run(asStranger(by.orgId), work) : work());
  if (answered instanceof Response) return answered;
  return route.answer === "nothing" ? noContent(exchange) : json(exchange, route.status ?? 200, answered);
}

function parsed(schema: z.ZodType, value: unknown): unknown {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  throw invalid(error.issues.map(({ path, message }) => ({ path: path.map(String).join("."), message })));
}

function requireRole({ by }: Visitor, { needs }: ConsoleRoute): void {
  if (hasRole(by, needs)) return;
  throw new ServiceError(
    "console_role_required",
    `This needs the role ${needs}, and yours is ${by.role}. An owner of the organisation can change it.`,
  );
}

const isStream = ({ answer }: ConsoleRoute): boolean => answer === "events" || answer === "file";

const isUnsafe = ({ c }: Exchange): boolean => c.req.method !== "GET" && c.req.method !== "HEAD";

/** Messages about unknown ids name commands, which do not help in the console. */
function ofAdmin({ reason, message, details }: AdminError): ServiceError {
  if (reason === "unknown") return notFound("thing");
  if (reason === "conflict") return new ServiceError("conflict", message);
  const code = reason === "model" ? "model_not_allowed" : "invalid_request";
  return new ServiceError(code, message, { ...(details && { details }) });
}

function consoleHandlers(deps: ConsoleDeps, signIn: SignIn): ConsoleHandlers {
  return {
    ...accessRoutes(deps),
    ...accessViewRoutes(deps),
    ...agentRoutes(deps),
    ...analyticsRoutes(deps),
    ...approvalRoutes(deps),
    ...auditRoutes(deps),
    ...callRoutes(deps),
    ...credentialRoutes(deps),
    ...creditRoutes(deps),
    ...functionRoutes(deps),
    ...linkRoutes(deps, signIn),
    ...liveRoutes(deps),
    ...memberRoutes(deps, signIn),
    ...playgroundRoutes(deps),
    ...runRoutes(deps),
    async "GET /search"({ by, query: { q = "" } }) {
      return q === "" ? { found: [] } : deps.queries.search.find(by, q);
    },
    ...serviceTokenRoutes(deps),
    ...sessionRoutes(deps, signIn),
    ...threadRoutes(deps),
    ...viewRoutes(deps),
    ...webhookRoutes(deps),
  };
}
