import { LIMITS, type Fault } from "@patchbay/protocol";
import { ServiceError } from "../ports/service-error.ts";
import type { QueryEndpoint } from "../ports/metrics.ts";
import type { Caller, RunHandle } from "../run/api.ts";
import { asApiCaller, asLocalCaller } from "./caller.ts";
import type { Exchange, Handler, HttpDeps } from "./deps.ts";
import { inLocalWords, toLocalJson } from "./local-events.ts";
import { parseLocalQuery, parseQuery, type Asked } from "./query-body.ts";
import { countQuery } from "./rate-limit.ts";
import { codeOf, json, nameRun } from "./reply.ts";
import { hashBody, parseBody, readBody, requireJsonType } from "./request-body.ts";
import { streamRun } from "./stream-run.ts";

/** A query that has its run: begun now, or found by its Idempotency-Key. */
interface Begun {
  run: RunHandle;
  deltas: boolean;
  joined?: true;
}

/** The three endpoints that take a query. */
export function queryRoutes(deps: HttpDeps): Record<"query" | "queryStream" | "localQueryStream", Handler> {
  const { runs } = deps;
  return {
    query: (exchange) =>
      counted(deps, "query", (accepted) =>
        asApiCaller(exchange, deps, async (caller) => {
          const { run } = accepted(await beginKeyed(deps, exchange, caller));
          using _reader = runs.attach(run, { cancelWhenGone: cancelsWhenGone(exchange) });
          nameRun(exchange, run);
          const response = await runs.result(run, { signal: exchange.c.req.raw.signal });
          if (response) return json(exchange, 200, response);
          throw movedOn();
        }),
      ),

    queryStream: (exchange) =>
      counted(deps, "query-stream", (accepted) =>
        asApiCaller(exchange, deps, async (caller) => {
          const { run, deltas } = accepted(await beginKeyed(deps, exchange, caller));
          return streamRun(deps, exchange, run, { after: 0, deltas, cancelWhenGone: cancelsWhenGone(exchange) });
        }),
      ),

    localQueryStream: (exchange) =>
      counted(deps, "local", (accepted) =>
        asLocalCaller(exchange, deps, async (caller) => {
          await countQuery(exchange, caller, deps.rateLimit);
          requireJsonType(exchange);
          const asked = parseLocalQuery(parseBody(await readBody(exchange), { exact: true }));
          const run = await runs.start(caller, asked.query).catch(inLocalWords);
          accepted({ run, deltas: asked.deltas });
          return streamRun(deps, exchange, run, {
            after: 0,
            deltas: asked.deltas,
            cancelWhenGone: false,
            translate: toLocalJson,
          });
        }),
      ),
  };
}

async function beginKeyed(deps: HttpDeps, exchange: Exchange, caller: Caller): Promise<Begun> {
  const key = exchange.c.req.header("Idempotency-Key");
  if (key === undefined) {
    await countQuery(exchange, caller, deps.rateLimit);
    requireJsonType(exchange);
    return start(deps, caller, parseQuery(parseBody(await readBody(exchange))));
  }

  const faults = faultsOfKey(key);
  const raw = await readBody(exchange);
  const idempotency = { key, bodyHash: hashBody(raw) };
  const known = faults.length === 0 ? await deps.runs.join(caller, key, idempotency.bodyHash) : undefined;
  if (known) return { run: known, deltas: parseQuery(parseBody(raw)).deltas, joined: true };

  await countQuery(exchange, caller, deps.rateLimit);
  requireJsonType(exchange);
  const asked = parseQuery(parseBody(raw), faults);
  return start(deps, caller, { ...asked, query: { ...asked.query, idempotency } });
}

async function start({ runs }: HttpDeps, caller: Caller, { query, deltas }: Asked): Promise<Begun> {
  return { run: await runs.start(caller, query), deltas };
}

export function faultsOfKey(key: string): Fault[] {
  if (key.length >= 1 && key.length <= LIMITS.idempotencyKeyUnits) return [];
  return [{ path: "Idempotency-Key", message: `must have 1 to ${LIMITS.idempotencyKeyUnits} characters` }];
}

/** Counts how a query was answered: accepted or joined once it has its run, else refused. */
async function counted(
  { metrics }: HttpDeps,
  endpoint: QueryEndpoint,
  answer: (accepted: (begun: Begun) => Begun) => Promise<Response>,
): Promise<Response> {
  let begun = false;
  try {
    return await answer((run) => {
      begun = true;
      metrics.queryAnswered(endpoint, run.joined ? "joined" : "accepted");
      return run;
    });
  } catch (thrown) {
    if (!begun) metrics.queryAnswered(endpoint, codeOf(thrown));
    throw thrown;
  }
}

function movedOn(): ServiceError {
  return new ServiceError(
    "unavailable",
    "This replica is stopping and the run goes on elsewhere. Repeat the request with its Idempotency-Key, or read the run by its id.",
  );
}

export function cancelsWhenGone({ c }: Exchange): boolean {
  return c.req.header("X-On-Disconnect")?.toLowerCase() === "cancel";
}
