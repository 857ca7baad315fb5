import { LIMITS, type Fault } from "@patchbay/protocol";
import { ServiceError } from "../ports/service-error.ts";
import type { QueryEndpoint } from "../ports/metrics.ts";
import type { Caller, RunHandle } from "../run/api.ts";
import { apiCaller, localCaller } from "./caller.ts";
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
    async query(exchange) {
      const { run } = await counted(deps, "query", () => beginKeyed(deps, exchange));
      using _reader = runs.attach(run, { cancelWhenGone: cancelsWhenGone(exchange) });
      nameRun(exchange, run);
      const response = await runs.result(run, { signal: exchange.c.req.raw.signal });
      if (response) return json(exchange, 200, response);
      throw new ServiceError(
        "unavailable",
        "This replica is stopping and the run goes on elsewhere. Repeat the request with its Idempotency-Key, or read the run by its id.",
      );
    },

    async queryStream(exchange) {
      const { run, deltas } = await counted(deps, "query-stream", () => beginKeyed(deps, exchange));
      return streamRun(deps, exchange, run, { after: 0, deltas, cancelWhenGone: cancelsWhenGone(exchange) });
    },

    async localQueryStream(exchange) {
      const { run, deltas } = await counted(deps, "local", async () => {
        const caller = await localCaller(exchange, deps.authenticate);
        await countQuery(exchange, caller, deps.rateLimit);
        requireJsonType(exchange);
        const asked = parseLocalQuery(parseBody(await readBody(exchange)));
        const run = await runs.start(caller, asked.query).catch(inLocalWords);
        return { run, deltas: asked.deltas };
      });
      return streamRun(deps, exchange, run, { after: 0, deltas, cancelWhenGone: false, translate: toLocalJson });
    },
  };
}

async function beginKeyed(deps: HttpDeps, exchange: Exchange): Promise<Begun> {
  const caller = await apiCaller(exchange, deps.authenticate);
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

function faultsOfKey(key: string): Fault[] {
  if (key.length >= 1 && key.length <= LIMITS.idempotencyKeyUnits) return [];
  return [{ path: "Idempotency-Key", message: `must have 1 to ${LIMITS.idempotencyKeyUnits} characters` }];
}

async function counted({ metrics }: HttpDeps, endpoint: QueryEndpoint, begin: () => Promise<Begun>): Promise<Begun> {
  try {
    const begun = await begin();
    metrics.queryAnswered(endpoint, begun.joined ? "joined" : "accepted");
    return begun;
  } catch (thrown) {
    metrics.queryAnswered(endpoint, codeOf(thrown));
    throw thrown;
  }
}

function cancelsWhenGone({ c }: Exchange): boolean {
  return c.req.header("X-On-Disconnect")?.toLowerCase() === "cancel";
}
