import { monotonicMs } from "@patchbay/kit/time";
import type { Context, Hono } from "hono";
import type { Log } from "@patchbay/kit";
import type { Metrics } from "@patchbay/engine/ports/metrics";
import { ServiceError, type ServiceErrorCode } from "@patchbay/engine/ports/service-error";
import { codeOf, failure } from "./errors.ts";
import { type Exchange, type Handler, type HttpEnv, requestIdOf } from "./exchange.ts";

/** One route. Answers to unknown paths and methods are derived from the route list. */
export interface Route {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** With `:names`, for example `/agents/:agent_id/query`. */
  path: string;
  /** True for routes that answer with server-sent events. */
  streams?: boolean;
  /** True for what machines request every few seconds: its requests are logged at debug level. */
  probe?: boolean;
  handle: Handler;
}

/** An API whose routes share their headers and error format. */
export interface Api {
  /** Its name in metrics. */
  name: string;
  routes: readonly Route[];
  metrics: Pick<Metrics, "requestAnswered">;
  log: Log;
  /** Path to its OpenAPI document. */
  documentPath: string;
  /** Headers for every response. */
  headers?: Readonly<Record<string, string>>;
  /** Called before each request is handled. */
  begin?(exchange: Exchange): Promise<void>;
  /** Answers a request with a known path and an unknown method, for example a preflight. */
  answerOtherMethod?(exchange: Exchange, methods: readonly string[]): Response | undefined;
  /** Called with a handler's error; returns the error to answer with. May set headers. */
  mapError?(exchange: Exchange, thrown: unknown): unknown;
  /** The response to an error. Default, also where it returns undefined: the API's error body. */
  failure?(exchange: Exchange, thrown: unknown): Promise<Response | undefined>;
}

/** Adds an API's routes to the app. `answerOthers` gets the handler for requests that match no route. */
export function mountRoutes(app: Hono<HttpEnv>, api: Api, answerOthers: (handler: HonoHandler) => void): void {
  for (const route of api.routes) app.on(route.method, route.path, (c) => answer(api, c, route.handle, route));
  // Mounted for unmatched requests only, so that a matched request passes through its handler only.
  answerOthers((c) => answer(api, c, (exchange) => unrouted(exchange, api)));
}

/** The logged status when the client disconnects before the response, as in nginx. */
const CLIENT_GONE = 499;

type HonoHandler = (c: Context<HttpEnv>) => Promise<Response>;

async function answer(api: Api, c: Context<HttpEnv>, handle: Handler, route?: Route): Promise<Response> {
  const beganAt = monotonicMs();
  const requestId = requestIdOf(c.req.header("X-Request-Id"));
  const headers = { "X-Request-Id": requestId, "X-Content-Type-Options": "nosniff", ...api.headers };
  const exchange: Exchange = { c, requestId, headers, cookies: [], facts: {} };
  await api.begin?.(exchange);
  const ended = (status: number, code?: ServiceErrorCode): void => {
    if (!route?.probe)
      api.metrics.requestAnswered(api.name, code ?? (status === CLIENT_GONE ? "client_gone" : "succeeded"));
    const { method } = c.req;
    const ms = Math.round(monotonicMs() - beganAt);
    const fields = { requestId, method, ...(route && { route: route.path }), status, ...(code && { code }) };
    api.log[route?.probe ? "debug" : "info"]("request", { ...fields, ...exchange.facts, ms });
  };
  try {
    // Hono also routes HEAD requests to GET routes, and a stream would stay open without a reader.
    if (route?.streams && c.req.method === "HEAD") throw notAllowed(exchange, [route.method]);
    const response = await handle(exchange);
    for (const cookie of exchange.cookies) response.headers.append("Set-Cookie", cookie);
    const outgoing = c.env?.outgoing;
    if (route?.streams && response.body && outgoing) outgoing.once("close", () => ended(response.status));
    else ended(response.status);
    return response;
  } catch (thrown) {
    // The client has disconnected. Work aborted for this reason did not fail.
    if (c.req.raw.signal.aborted) {
      ended(CLIENT_GONE);
      return new Response(null, { status: CLIENT_GONE, headers });
    }
    const error = api.mapError ? api.mapError(exchange, thrown) : thrown;
    const response = (await api.failure?.(exchange, error)) ?? failure(exchange, error, api.log);
    ended(response.status, codeOf(error));
    return response;
  }
}

function unrouted(exchange: Exchange, api: Api): Response {
  const { method, path } = exchange.c.req;
  const methods = methodsOf(path, api.routes);
  if (methods.length === 0)
    throw new ServiceError("not_found", `No such route: ${method} ${path}. GET ${api.documentPath} lists them.`);
  const answered = api.answerOtherMethod?.(exchange, methods);
  if (answered) return answered;
  throw notAllowed(exchange, methods);
}

/** The path's methods, in route order; empty for an unknown path. */
export function methodsOf(path: string, routes: readonly Pick<Route, "method" | "path" | "streams">[]): string[] {
  const methods = routes
    .filter((route) => matches(route.path, path))
    .flatMap(({ method, streams }) => (method === "GET" && !streams ? ["GET", "HEAD"] : [method]));
  return [...new Set(methods)];
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const given = path.split("/");
  return (
    wanted.length === given.length &&
    wanted.every((part, i) => (part.startsWith(":") ? given[i] !== "" : part === given[i]))
  );
}

function notAllowed({ c, headers }: Exchange, methods: readonly string[]): ServiceError {
  headers["Allow"] = methods.join(", ");
  return new ServiceError("method_not_allowed", `${c.req.path} takes ${methods.join(", ")} only.`);
}
