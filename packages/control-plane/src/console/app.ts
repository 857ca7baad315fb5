import { CONSOLE_ROLES, CONSOLE_ROUTES, type ConsoleRoute, type ConsoleRouteName } from "@patchbay/protocol/console";
import type { Context, Hono } from "hono";
import type { z } from "zod";
import { requestIdOf } from "../http/app.ts";
import type { Exchange, HttpEnv } from "../http/deps.ts";
import { asStranger } from "../http/fair-queue.ts";
import { json, noContent } from "../http/reply.ts";
import { parseBody, readBody, requireJsonType } from "../http/request-body.ts";
import { invalid, ServiceError } from "../ports/service-error.ts";
import { ConsoleError, problem } from "./console-error.ts";
import type { ConsoleDeps } from "./deps.ts";
import type { ConsoleExchange, SignedIn } from "./handler.ts";
import { consoleHandlers } from "./handlers/index.ts";
import { baseUrlOf } from "./handlers/session.ts";
import { consoleDocument } from "./openapi.ts";
import { requireSameOrigin } from "./sign-in/same-origin.ts";
import type { Visitor } from "./sign-in/sessions.ts";
import { createSignIn } from "./sign-in/sign-in.ts";
import { packagedConsole } from "../packaged-console.ts";
import { mountStaticFiles } from "./static-files.ts";

type AnyHandler = (request: object) => Promise<unknown>;

/** Adds the console to the service's routes: its interface under `/api`, its pages under `/console`. */
export function mountConsole(app: Hono<HttpEnv>, deps: ConsoleDeps): void {
  const signIn = createSignIn(deps);
  const handlers = consoleHandlers(deps, signIn) as Record<ConsoleRouteName, AnyHandler>;
  const routes = Object.entries(CONSOLE_ROUTES) as [ConsoleRouteName, ConsoleRoute][];
  for (const [name, route] of routes) {
    const [method = "", path = ""] = name.split(" ");
    const handle = handlers[name];
    app.on(method, `/api${path}`, (c) => answer(deps, c, (exchange) => serve(exchange, { deps, route, handle })));
  }
  app.get("/api/openapi.json", (c) => answer(deps, c, (exchange) => json(exchange, 200, document(exchange))));
  app.all("/api/*", (c) => answer(deps, c, unrouted));

  mountStaticFiles(app, deps.consoleFiles ?? packagedConsole());

  function document(exchange: Exchange): object {
    return consoleDocument({ version: deps.version, serverUrl: baseUrlOf(exchange, deps) });
  }

  /** What a route's table entry asks for, in order, before its handler is asked. */
  async function serve(exchange: ConsoleExchange, served: Served): Promise<Response> {
    const { route } = served;
    refuseHead(exchange, route);
    const visitor = route.needs === "nobody" ? undefined : await signIn.sessions.require(exchange);
    if (isUnsafe(exchange)) requireSameOrigin(exchange, deps);
    if (!visitor) return handled(exchange, served, undefined);
    requireRole(visitor, route);
    if (route.confirmed && visitor.hasPassword && !visitor.confirmed)
      throw new ConsoleError("confirmation_required", "Give your password again, then repeat this request.");
    return deps.within(visitor.by.orgId, () => handled(exchange, served, visitor.by));
  }
}

interface Served {
  deps: ConsoleDeps;
  route: ConsoleRoute;
  handle: AnyHandler;
}

async function handled(
  exchange: ConsoleExchange,
  { deps, route, handle }: Served,
  by: SignedIn | undefined,
): Promise<Response> {
  const { c } = exchange;
  const query = route.query && parsed(route.query, c.req.query());
  const body = route.body && parsed(route.body, await bodyOf(exchange));
  const work = () => handle({ params: c.req.param(), query, body, by, exchange, signal: c.req.raw.signal });
  const inTurn = by && !isUnsafe(exchange) && route.answer !== "events";
  const answered = await (inTurn ? deps.reads.run(asStranger(by.orgId), work) : work());
  if (answered instanceof Response) return answered;
  return route.answer === "nothing" ? noContent(exchange) : json(exchange, route.status ?? 200, answered);
}

type Handler = (exchange: ConsoleExchange) => Response | Promise<Response>;

async function answer(deps: ConsoleDeps, c: Context<HttpEnv>, handle: Handler): Promise<Response> {
  const requestId = requestIdOf(c.req.header("X-Request-Id"));
  const headers = {
    "X-Request-Id": requestId,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
  };
  const exchange: ConsoleExchange = { c, requestId, headers, cookies: [] };
  try {
    const response = await handle(exchange);
    for (const cookie of exchange.cookies) response.headers.append("Set-Cookie", cookie);
    return response;
  } catch (thrown) {
    // Nobody is there to read an answer, and a wait that ended for this reason has not failed.
    if (c.req.raw.signal.aborted) return new Response(null, { status: 499, headers });
    return problem(exchange, thrown, deps.log);
  }
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
  const rank = (role: string) => (CONSOLE_ROLES as readonly string[]).indexOf(role);
  if (rank(by.role) >= rank(needs)) return;
  throw new ConsoleError(
    "console_role_required",
    `This needs the role ${needs}, and yours is ${by.role}. An owner of the organisation can change it.`,
  );
}

function isUnsafe({ c }: Exchange): boolean {
  return c.req.method !== "GET" && c.req.method !== "HEAD";
}

/** A GET route is also given HEAD requests, which would open a stream that nobody reads. */
function refuseHead(exchange: Exchange, { answer }: ConsoleRoute): void {
  if (answer === "events" && exchange.c.req.method === "HEAD") throw notAllowed(exchange, ["GET"]);
}

const PATTERNS = Object.keys(CONSOLE_ROUTES).map((name) => {
  const [method = "", path = ""] = name.split(" ");
  return { method, pattern: new RegExp(`^/api${path.replace(/:\w+/g, "[^/]+")}$`) };
});

function unrouted(exchange: Exchange): never {
  const { method, path } = exchange.c.req;
  const methods = PATTERNS.filter(({ pattern }) => pattern.test(path)).map((one) => one.method);
  if (methods.length > 0) throw notAllowed(exchange, methods);
  throw new ServiceError("not_found", `No such route: ${method} ${path}. GET /api/openapi.json lists them.`);
}

function notAllowed({ c, headers }: Exchange, methods: readonly string[]): ServiceError {
  headers["Allow"] = methods.join(", ");
  return new ServiceError("method_not_allowed", `${c.req.path} takes ${methods.join(", ")} only.`);
}
