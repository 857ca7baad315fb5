import { type Fault, LIMITS } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { QueryEndpoint } from "@patchbay/engine/ports/metrics";
import { invalid, ServiceError } from "@patchbay/engine/ports/service-error";
import type { ProvenCaller } from "@patchbay/engine/ports/callers";
import type { Principal, RunHandle, Runs } from "@patchbay/engine/run/api";
import type { RateLimit } from "../accounts/limits.ts";
import { hashBody, hashJson, parseBody, readBody, receiveJson, requireJsonType } from "../kernel/body.ts";
import { codeOf } from "../kernel/errors.ts";
import { type Exchange, type Handler, json, originOf, text } from "../kernel/exchange.ts";
import { asApiCaller, asLocalCaller, type CallerDeps } from "./caller.ts";
import type { HttpDeps } from "./deps.ts";
import { inLocalNames, toLocalJson } from "./local-events.ts";
import { type Asked, parseLocalQuery, parseQuery } from "./query-body.ts";
import { nameRun, ownerOf, type StreamDeps, streamStarted, type StreamView, waitsForSlot } from "./stream-run.ts";

export type QueryDeps = CallerDeps & StreamDeps & Pick<HttpDeps, "metrics" | "rateLimit">;

/** A parsed query, with the run that its Idempotency-Key has already started. */
export type Received<T extends Pick<Asked, "query"> = Pick<Asked, "query">> = T & { known?: RunHandle };

/** The three query endpoints. */
export function queryRoutes(deps: QueryDeps): Record<"query" | "queryStream" | "localQueryStream", Handler> {
  const { runs } = deps;
  return {
    query: (exchange) =>
      counted(deps, "query", (begun) =>
        asApiCaller(exchange, deps, async (caller) => {
          const { query, ...received } = await receive(deps, exchange, caller, { parse: parseQuery });
          const respondAsync = respondsAsync(exchange);
          const cancelWhenGone = !respondAsync && cancelsWhenGone(exchange);
          const asked = { ...received, query: { ...query, respondAsync, cancelWhenGone } };
          const run = begun(await begin(deps, exchange, caller, asked));
          if (respondAsync) return acceptedRun(exchange, run);
          using reader = runs.attach(run, { cancelWhenGone });
          nameRun(exchange, run);
          const { signal } = exchange.c.req.raw;
          const answer = await runs.resultText(run, { signal, waitMs: waitMsOf(exchange) });
          if (answer === undefined) throw handedOver();
          // A client that has its answer did not disconnect, although its run may wait for an approval.
          if (!signal.aborted) reader.answered();
          return text(exchange, answer, "application/json");
        }),
      ),

    queryStream: (exchange) =>
      counted(deps, "query-stream", (begun) =>
        asApiCaller(exchange, deps, async (caller) => {
          const { query, ...received } = await receive(deps, exchange, caller, { parse: parseQuery });
          const cancelWhenGone = cancelsWhenGone(exchange);
          const asked = { ...received, query: { ...query, cancelWhenGone, resumable: cancelWhenGone } };
          return await streamQuery(deps, exchange, caller, asked, begun, { cancelWhenGone });
        }),
      ),

    localQueryStream: (exchange) =>
      counted(deps, "local", (begun) =>
        asLocalCaller(exchange, deps, async (caller) => {
          const limiter = () => countQuery(exchange, caller, deps.rateLimit);
          const asked = parseLocalQuery(await receiveJson(exchange, { limiter, exact: true }));
          const view = { cancelWhenGone: false, toBody: toLocalJson };
          return await streamQuery(deps, exchange, caller, asked, begun, view).catch(inLocalNames);
        }),
      ),
  };
}

/** Streams a query's run. */
export function streamQuery(
  deps: StreamDeps,
  exchange: Exchange,
  caller: Principal,
  received: Received<Asked>,
  begun: (run: Begun) => RunHandle,
  view: Omit<StreamView, "after" | "deltas">,
): Promise<Response> {
  const { known, deltas } = received;
  const start = async () => begun(await begin(deps, exchange, caller, received));
  const wanted = { owner: ownerOf(caller), wait: waitsForSlot(caller), known };
  return streamStarted(deps, exchange, wanted, start, { ...view, deltas });
}

interface Receiving<T> {
  parse: (body: unknown, otherFaults: readonly Fault[]) => T;
  maxBytes?: number;
  /** What headers say about the query: a request that repeats its Idempotency-Key must repeat them too. */
  headers?: object;
}

/**
 * Counts a query and parses its body, in the HTTP contract's order. Finds the run that its Idempotency-Key has already
 * started; such a request does not count.
 */
export async function receive<T extends Pick<Asked, "query">>(
  deps: Pick<HttpDeps, "runs" | "rateLimit">,
  exchange: Exchange,
  caller: Principal,
  { parse, maxBytes, headers }: Receiving<T>,
): Promise<Received<T>> {
  const key = exchange.c.req.header("Idempotency-Key");
  const limiter = () => countQuery(exchange, caller, deps.rateLimit);
  if (key === undefined) return parse(await receiveJson(exchange, present({ limiter, maxBytes })), []);

  const faults = faultsOfKey(key);
  const raw = await readBody(exchange, maxBytes);
  const idempotency = { key, bodyHash: hashOf(raw, caller, headers) };
  const known = faults.length === 0 ? await deps.runs.join(caller, key, idempotency.bodyHash) : undefined;
  if (known) return { ...parse(parseBody(raw), []), known };

  await limiter();
  requireJsonType(exchange);
  const asked = parse(parseBody(raw), faults);
  return { ...asked, query: { ...asked.query, idempotency } };
}

/** A different proven caller that repeats the key and the body must not join the run. */
function hashOf(raw: Parameters<typeof hashBody>[0], { proven }: Principal, headers?: object): string {
  const body = hashBody(raw);
  return proven || headers ? hashJson({ body, ...present({ proven: proven && statedBy(proven), headers }) }) : body;
}

/** What a token states, in the form that earlier versions hash: a request repeated during an upgrade joins its run. */
export function statedBy(proven: ProvenCaller): object {
  const { subject, roles, context, members } = proven;
  return present({ subject, roles, context, members });
}

/** A query's run. `joined`: it existed before. */
export interface Begun {
  run: RunHandle;
  joined: boolean;
}

export async function begin(
  { runs }: Pick<HttpDeps, "runs">,
  exchange: Exchange,
  caller: Principal,
  { known, query }: Pick<Received, "known" | "query">,
): Promise<Begun> {
  if (query.role !== undefined) exchange.facts.role = query.role;
  if (known) return { run: known, joined: true };
  return { run: await runs.start(caller, { ...query, ...originOf(exchange) }), joined: false };
}

function faultsOfKey(key: string): Fault[] {
  if (key.length >= 1 && key.length <= LIMITS.idempotencyKeyUnits) return [];
  return [{ path: "Idempotency-Key", message: `must have 1 to ${LIMITS.idempotencyKeyUnits} characters` }];
}

/** A request's `Idempotency-Key`. Throws `invalid_request` for an empty or long one. */
export function keyOf({ c }: Exchange): string | undefined {
  const key = c.req.header("Idempotency-Key");
  const faults = key === undefined ? [] : faultsOfKey(key);
  if (faults.length > 0) throw invalid(faults);
  return key;
}

/** The `Idempotency-Key` of a request that starts a run, and its earlier run. `asked`: what must be equal. */
export async function keyedRun(runs: Pick<Runs, "join">, caller: Principal, exchange: Exchange, asked: unknown) {
  const key = keyOf(exchange);
  if (key === undefined) return {};
  const idempotency = { key, bodyHash: hashJson(asked) };
  return { idempotency, known: await runs.join(caller, key, idempotency.bodyHash) };
}

/** Counts a query's outcome: accepted or joined once it has a run, otherwise the error code. */
export async function counted(
  { metrics }: Pick<HttpDeps, "metrics">,
  endpoint: QueryEndpoint,
  answer: (begun: (run: Begun) => RunHandle) => Promise<Response>,
): Promise<Response> {
  let hasRun = false;
  try {
    return await answer(({ run, joined }) => {
      hasRun = true;
      metrics.queryAnswered(endpoint, joined ? "joined" : "accepted");
      return run;
    });
  } catch (thrown) {
    if (!hasRun) metrics.queryAnswered(endpoint, codeOf(thrown));
    throw thrown;
  }
}

export function handedOver(): ServiceError {
  return new ServiceError(
    "unavailable",
    "This replica is stopping and the run continues on another one. Repeat the request with its Idempotency-Key, or read the run by its id.",
  );
}

const MOST_WAIT_SECONDS = 240;

/** How long the client waits for a run that waits for an approval: `Prefer: wait=N`. A malformed value counts as 0. */
export function waitMsOf({ c }: Exchange): number {
  const [, seconds] = /(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i.exec(c.req.header("Prefer") ?? "") ?? [];
  return Math.min(Number(seconds ?? 0), MOST_WAIT_SECONDS) * 1_000;
}

/** True for `Prefer: respond-async` (RFC 7240): the client reads the run later, so disconnecting does not cancel it. */
const respondsAsync = ({ c }: Exchange): boolean =>
  /(?:^|,)\s*respond-async\s*(?:[,;]|$)/i.test(c.req.header("Prefer") ?? "");

function acceptedRun(exchange: Exchange, run: RunHandle): Response {
  nameRun(exchange, run);
  return json(exchange, 202, { runId: run.runId, threadId: run.threadId });
}

export function cancelsWhenGone({ c }: Exchange): boolean {
  return c.req.header("X-On-Disconnect")?.toLowerCase() === "cancel";
}

const WINDOW_SECONDS = 60;

/** Counts a query, or whatever `limit` limits, and adds RateLimit headers. Throws `rate_limited` above the limit. */
export async function countQuery(
  { headers }: Exchange,
  caller: Principal,
  limit: RateLimit,
  counts: "queries" | "requests" = "queries",
): Promise<void> {
  const state = await limit(caller.orgId, caller.tier);
  if (!state) return;
  const wait = Math.max(1, Math.ceil(state.resetSeconds));
  headers["RateLimit-Policy"] = `"default";q=${state.limit};w=${WINDOW_SECONDS}`;
  headers["RateLimit"] = `"default";r=${Math.max(0, state.remaining)};t=${wait}`;
  if (state.allowed) return;
  headers["Retry-After"] = String(wait);
  throw new ServiceError(
    "rate_limited",
    `Rate limit of ${state.limit} ${counts} a minute reached. Try again in ${wait} s.`,
  );
}
