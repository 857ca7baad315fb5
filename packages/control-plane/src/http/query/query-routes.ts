import { type Fault, LIMITS, present } from "@patchbay/protocol";
import type { QueryEndpoint } from "../../ports/metrics.ts";
import { ServiceError } from "../../ports/service-error.ts";
import type { Principal, RunHandle } from "../../run/api.ts";
import { hashBody, hashJson, parseBody, readBody, requireJsonType } from "../kernel/body.ts";
import { codeOf } from "../kernel/errors.ts";
import { queryTranslator } from "../kernel/event-stream.ts";
import { type Exchange, type Handler, json, originOf, text } from "../kernel/exchange.ts";
import { asApiCaller, asLocalCaller } from "./caller.ts";
import type { HttpDeps } from "./deps.ts";
import { inLocalNames, toLocalJson } from "./local-events.ts";
import { type Asked, parseLocalQuery, parseQuery } from "./query-body.ts";
import { nameRun, onPlace, ownerOf, streamRun, type StreamView, waitsForPlace } from "./stream-run.ts";

/** A parsed query, with the run that its Idempotency-Key has started before. */
type Received<T extends Pick<Asked, "query"> = Asked> = T & { known?: RunHandle };

/** The three endpoints that take a query. */
export function queryRoutes(deps: HttpDeps): Record<"query" | "queryStream" | "localQueryStream", Handler> {
  const { runs } = deps;
  return {
    query: (exchange) =>
      counted(deps, "query", (begun) =>
        asApiCaller(exchange, deps, async (caller) => {
          const { query, ...received } = await receive(deps, exchange, caller, { parse: parseQuery });
          const respondAsync = respondsAsync(exchange);
          const run = begun(await begin(deps, exchange, caller, { ...received, query: { ...query, respondAsync } }));
          if (respondAsync) return acceptedRun(exchange, run);
          using reader = runs.attach(run, { cancelWhenGone: cancelsWhenGone(exchange) });
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
        asApiCaller(exchange, deps, async (caller) =>
          streamQuery(deps, exchange, caller, await receive(deps, exchange, caller, { parse: parseQuery }), begun, {
            cancelWhenGone: cancelsWhenGone(exchange),
          }),
        ),
      ),

    localQueryStream: (exchange) =>
      counted(deps, "local", (begun) =>
        asLocalCaller(exchange, deps, async (caller) => {
          await countQuery(exchange, caller, deps.rateLimit);
          requireJsonType(exchange);
          const asked = parseLocalQuery(parseBody(await readBody(exchange), { exact: true }));
          const view = { cancelWhenGone: false, translate: () => queryTranslator(toLocalJson) };
          return await streamQuery(deps, exchange, caller, asked, begun, view).catch(inLocalNames);
        }),
      ),
  };
}

/** Streams a query's run. The run starts once the stream has a place among the open streams. */
export function streamQuery(
  deps: HttpDeps,
  exchange: Exchange,
  caller: Principal,
  received: Received,
  begun: (run: Begun) => RunHandle,
  view: Omit<StreamView, "after" | "deltas">,
): Promise<Response> {
  const { known, deltas } = received;
  const wanted = { owner: ownerOf(caller), wait: waitsForPlace(caller), ...(known && { runId: known.runId }) };
  return onPlace(deps, exchange, wanted, async (place) => {
    const query = { ...received.query, ...(view.cancelWhenGone && { cancelWhenGone: true }) };
    const run = begun(await begin(deps, exchange, caller, { ...received, query }));
    if (!known) place.follow(run.runId);
    return streamRun(deps, exchange, run, { ...view, after: 0, deltas }, place);
  });
}

interface Receiving<T> {
  parse: (body: unknown, otherFaults: readonly Fault[]) => T;
  maxBytes?: number;
  /** What headers say of the query: a request that repeats its Idempotency-Key must repeat them too. */
  headers?: object;
}

/**
 * Counts a query and parses its body, in the order of the HTTP contract. Finds the run that its Idempotency-Key has started before;
 * such a request does not count.
 */
export async function receive<T extends Pick<Asked, "query">>(
  deps: HttpDeps,
  exchange: Exchange,
  caller: Principal,
  { parse, maxBytes, headers }: Receiving<T>,
): Promise<Received<T>> {
  const key = exchange.c.req.header("Idempotency-Key");
  if (key === undefined) {
    await countQuery(exchange, caller, deps.rateLimit);
    requireJsonType(exchange);
    return parse(parseBody(await readBody(exchange, maxBytes)), []);
  }

  const faults = faultsOfKey(key);
  const raw = await readBody(exchange, maxBytes);
  const idempotency = { key, bodyHash: hashOf(raw, caller, headers) };
  const known = faults.length === 0 ? await deps.runs.join(caller, key, idempotency.bodyHash) : undefined;
  if (known) return { ...parse(parseBody(raw), []), known };

  await countQuery(exchange, caller, deps.rateLimit);
  requireJsonType(exchange);
  const asked = parse(parseBody(raw), faults);
  return { ...asked, query: { ...asked.query, idempotency } };
}

/** Another proven caller that repeats the key and the body must not join the run. */
function hashOf(raw: Parameters<typeof hashBody>[0], { proven }: Principal, headers?: object): string {
  const body = hashBody(raw);
  return proven || headers ? hashJson({ body, ...present({ proven: proven && { ...proven }, headers }) }) : body;
}

/** The run of a query. `joined`: it existed before. */
export interface Begun {
  run: RunHandle;
  joined: boolean;
}

export async function begin(
  { runs }: HttpDeps,
  exchange: Exchange,
  caller: Principal,
  { known, query }: Pick<Received, "known" | "query">,
): Promise<Begun> {
  if (query.role !== undefined) exchange.facts.role = query.role;
  if (known) return { run: known, joined: true };
  return { run: await runs.start(caller, { ...query, ...originOf(exchange) }), joined: false };
}

export function faultsOfKey(key: string): Fault[] {
  if (key.length >= 1 && key.length <= LIMITS.idempotencyKeyUnits) return [];
  return [{ path: "Idempotency-Key", message: `must have 1 to ${LIMITS.idempotencyKeyUnits} characters` }];
}

/** Counts the outcome of a query: accepted or joined once it has a run, else the error code. */
export async function counted(
  { metrics }: HttpDeps,
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

/** How long the client waits for the end of a run that waits for an approval: `Prefer: wait=N`. Anything malformed counts as 0. */
function waitMsOf({ c }: Exchange): number {
  const [, seconds] = /(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i.exec(c.req.header("Prefer") ?? "") ?? [];
  return Math.min(Number(seconds ?? 0), MOST_WAIT_SECONDS) * 1_000;
}

/** True for `Prefer: respond-async` (RFC 7240): the client reads the run later, so that its leaving does not cancel the run. */
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

/** Counts a query, or what else `limit` limits, and adds the RateLimit headers. Throws `rate_limited` above the limit. */
export async function countQuery(
  { headers }: Exchange,
  caller: Principal,
  limit: HttpDeps["rateLimit"],
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
