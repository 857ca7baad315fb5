import { present } from "@patchbay/protocol";
import { CONSOLE_ROUTES, type ConsoleRoute, type ConsoleRouteName } from "@patchbay/protocol/console";
import { Hono } from "hono";
import type { z } from "zod";
import { createTokenCheck } from "../accounts/service-tokens.ts";
import { AdminError } from "../accounts/admin-error.ts";
import { parseBody, readBody, requireJsonType } from "../http/kernel/body.ts";
import { type Exchange, type HttpEnv, json, noContent } from "../http/kernel/exchange.ts";
import { asStranger } from "../http/kernel/fair-queue.ts";
import { mountRoutes, type Route } from "../http/kernel/routes.ts";
import { invalid, ServiceError } from "../ports/service-error.ts";
import type { Engine } from "../store/engine.ts";
import { accessRoutes } from "./access/routes.ts";
import { accessUseRoutes } from "./access/use-routes.ts";
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
import { runRoutes } from "./runs/routes.ts";
import { viewRoutes } from "./runs/view-routes.ts";
import { serviceTokenRoutes } from "./service-tokens/routes.ts";
import { threadRoutes } from "./threads/routes.ts";
import { webhookRoutes } from "./webhooks/routes.ts";

type AnyHandler = (request: object) => Promise<unknown>;

const DOCUMENT_PATH = "/api/openapi.json";

/** What the API is made of. `engine`: of the store. `queries`: those over the engine by default. */
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
  const served = Object.entries(CONSOLE_ROUTES) as [ConsoleRouteName, ConsoleRoute][];
  const routes = served.map(([name, route]): Route => {
    const [method, path] = name.split(" ") as [Route["method"], string];
    const guard = { deps, signIn, checkToken, route, handle: handlers[name] };
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
  route: ConsoleRoute;
  handle: AnyHandler;
}

/** Checks what the route's table entry requires, in a fixed order, before its handler runs. */
async function serve(exchange: Exchange, guarded: Guarded): Promise<Response> {
  const { deps, signIn, checkToken, route } = guarded;
  const secret = route.needs === "public" ? undefined : serviceTokenOf(exchange);
  // A page of another site cannot add the header, and has no other way to use a token: no check of the origin is needed.
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

async function handled(exchange: Exchange, { deps, route, handle }: Guarded, by: Actor | undefined): Promise<Response> {
  const { c } = exchange;
  const query = route.query && parsed(route.query, c.req.query());
  const body = route.body && parsed(route.body, await bodyOf(exchange));
  const params: Record<string, string> = c.req.param();
  const agentId = params["agent_id"];
  async function work(): Promise<unknown> {
    const agent = by && agentId !== undefined ? await agentOf(deps.store, by.orgId, agentId) : undefined;
    if (agent) exchange.facts.agentId = agent.agentId;
    return handle({ params, query, body, by, agent, exchange, signal: c.req.raw.signal });
  }
  // Reads take turns between organisations. Streams do not: they would hold their turn for minutes.
  const takesTurn = by && !isUnsafe(exchange) && !isStream(route);
  const answered = await (takesTurn ? deps.reads.run(asStranger(by.orgId), work) : work());
  if (answered instanceof Response) return answered;
  return route.answer === "nothing" ? noContent(exchange) : json(exchange, route.status ?? 200, answered);
}

async function bodyOf(exchange: Exchange): Promise<unknown> {
  requireJsonType(exchange);
  return parseBody(await readBody(exchange));
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

function isUnsafe({ c }: Exchange): boolean {
  return c.req.method !== "GET" && c.req.method !== "HEAD";
}

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
    ...accessUseRoutes(deps),
    ...accessViewRoutes(deps),
    ...agentRoutes(deps),
    ...analyticsRoutes(deps),
    ...approvalRoutes(deps),
    ...auditRoutes(deps),
    ...credentialRoutes(deps),
    ...creditRoutes(deps),
    ...functionRoutes(deps),
    ...linkRoutes(deps, signIn),
    ...liveRoutes(deps),
    ...memberRoutes(deps, signIn),
    ...playgroundRoutes(deps),
    ...runRoutes(deps),
    async "GET /search"({ by, query: { q = "" } }) {
      return { found: q === "" ? [] : await deps.queries.search.find(by, q) };
    },
    ...serviceTokenRoutes(deps),
    ...sessionRoutes(deps, signIn),
    ...threadRoutes(deps),
    ...viewRoutes(deps),
    ...webhookRoutes(deps),
  };
}
