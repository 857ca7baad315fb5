import { invalid, ServiceError } from "../ports/service-error.ts";
import type { Caller } from "../run/api.ts";
import { asApiCaller, asLocalCaller } from "./caller.ts";
import type { Exchange, Handler, HttpDeps } from "./deps.ts";
import { asStranger } from "./fair-queue.ts";
import { toLocalJson } from "./local-events.ts";
import { json, noContent } from "./reply.ts";
import { onPlace, ownerOf, streamRun, type StreamView } from "./stream-run.ts";

/** How long the events of an ended run can be replayed. */
const REPLAY_MS = 24 * 3_600_000;
const EVENT_ID = /^\d{1,15}$/;

/** What can be done with a run that exists: follow it, read it, cancel it. */
export function runRoutes(deps: HttpDeps): Record<"runEvents" | "localRunEvents" | "cancelRun" | "getRun", Handler> {
  const { runs } = deps;

  async function resume(exchange: Exchange, caller: Caller, view: Pick<StreamView, "deltas" | "translate">) {
    const asked = lastEventId(exchange);
    const run = await runs.find(caller, runId(exchange));
    if (!run || (run.finishedAgoMs ?? 0) > REPLAY_MS) throw unknownRun();
    if (run.finishedAgoMs !== undefined && asked >= run.lastEventId) return noContent(exchange);
    // An id from beyond the log was never sent: whoever names one is shown what comes.
    const after = Math.min(asked, run.lastEventId);
    return onPlace(deps, exchange, { owner: ownerOf(caller), runId: run.runId, wait: false }, (place) =>
      streamRun(deps, exchange, run, { ...view, after, cancelWhenGone: false }, place),
    );
  }

  return {
    runEvents: (exchange) =>
      asApiCaller(exchange, deps, (caller) =>
        resume(exchange, caller, { deltas: exchange.c.req.query("includeDeltas") === "true" }),
      ),

    localRunEvents: (exchange) =>
      asLocalCaller(exchange, deps, (caller) => {
        const deltas = exchange.c.req.query("include_deltas") === "true";
        return resume(exchange, caller, { deltas, translate: toLocalJson });
      }),

    cancelRun: (exchange) =>
      asApiCaller(exchange, deps, async (caller) => {
        const cancelled = await runs.cancel(caller, runId(exchange));
        if (!cancelled) throw unknownRun();
        const stillEnding = cancelled.status === "queued" || cancelled.status === "running";
        return json(exchange, stillEnding ? 202 : 200, cancelled);
      }),

    getRun: (exchange) =>
      asApiCaller(exchange, deps, async (caller) => {
        const detail = await deps.reads.run(asStranger(caller.orgId), () => runs.detail(caller, runId(exchange)));
        if (!detail) throw unknownRun();
        return json(exchange, 200, detail);
      }),
  };
}

function runId({ c }: Exchange): string {
  return c.req.param("run_id") ?? "";
}

function unknownRun(): ServiceError {
  return new ServiceError("not_found", "Run not found");
}

/** Number of the last event that the client has; 0 where it has none. */
export function lastEventId({ c }: Exchange): number {
  const header = c.req.header("Last-Event-ID");
  if (header === undefined) return 0;
  if (EVENT_ID.test(header)) return Number(header);
  throw invalid([{ path: "Last-Event-ID", message: "must be the number of the last event received" }]);
}
