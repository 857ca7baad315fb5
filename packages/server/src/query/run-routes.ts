import { type Fault, Feedback } from "@patchbay/protocol";
import { invalid, ServiceError } from "@patchbay/engine/ports/service-error";
import type { PageAsked } from "@patchbay/engine/ports/store/page";
import { type Principal, type Runs, visibleTo } from "@patchbay/engine/run/api";
import { receiveJson } from "../kernel/body.ts";
import { type Exchange, type Handler, json, noContent } from "../kernel/exchange.ts";
import { asStranger } from "@patchbay/engine/ports/fair-queue";
import { apiHandler, asLocalCaller, type CallerDeps } from "./caller.ts";
import type { HttpDeps } from "./deps.ts";
import type { StreamOwner } from "./open-streams.ts";
import { toLocalJson } from "./local-events.ts";
import { parse } from "./query-body.ts";
import { countQuery } from "./query-routes.ts";
import { withStreamSlot, ownerOf, type StreamDeps, streamRun, type StreamView } from "./stream-run.ts";

/** How long a run's events can be replayed after its end. */
const REPLAY_MS = 24 * 3_600_000;
const EVENT_ID = /^\d{1,15}$/;

/** Routes for an existing run: follow, read, cancel and rate it. */
export function runRoutes(
  deps: CallerDeps & StreamDeps & Pick<HttpDeps, "reads">,
): Record<"runEvents" | "localRunEvents" | "cancelRun" | "getRun" | "sendFeedback" | "deleteFeedback", Handler> {
  const { runs } = deps;
  const forKey = apiHandler(deps);

  async function resume(exchange: Exchange, caller: Principal, view: Pick<StreamView, "deltas" | "toBody">) {
    const asked = lastEventId(exchange);
    const run = await runs.find(caller, runId(exchange));
    if (!run || (run.finishedAgoMs ?? 0) > REPLAY_MS) throw unknownRun();
    return await resumeRun(deps, exchange, run, { asked, owner: ownerOf(caller) }, async () => ({
      ...view,
      cancelWhenGone: run.finishedAgoMs === undefined && (await runs.cancelsWhenGone(run)),
    }));
  }

  return {
    runEvents: forKey((exchange, caller) =>
      resume(exchange, caller, { deltas: exchange.c.req.query("includeDeltas") === "true" }),
    ),

    localRunEvents: (exchange) =>
      asLocalCaller(exchange, deps, (caller) => {
        const deltas = exchange.c.req.query("include_deltas") === "true";
        return resume(exchange, caller, { deltas, toBody: toLocalJson });
      }),

    cancelRun: forKey(async (exchange, caller) => {
      const cancelled = await runs.cancel(caller, runId(exchange));
      if (!cancelled) throw unknownRun();
      const stillEnding = ["queued", "running", "waiting"].includes(cancelled.status);
      return json(exchange, stillEnding ? 202 : 200, cancelled);
    }),

    sendFeedback: forKey(async (exchange, caller) => {
      const limiter = () => countQuery(exchange, caller, deps.adapterLimit, "requests");
      const feedback = parse(Feedback, await receiveJson(exchange, { limiter }), []);
      if (!(await runs.recordFeedback(caller, runId(exchange), feedback))) throw unknownRun();
      return noContent(exchange);
    }),

    deleteFeedback: forKey(async (exchange, caller) => {
      if (!(await runs.deleteFeedback(caller, runId(exchange)))) throw unknownRun();
      return noContent(exchange);
    }),

    getRun: forKey(async (exchange, caller) => {
      const detail = await deps.reads.run(asStranger(caller.orgId), () => runs.detail(caller, runId(exchange)));
      if (!detail) throw unknownRun();
      return json(exchange, 200, detail);
    }),
  };
}

/** Streams what follows the event `asked` of a run; 204 if nothing does. */
export function resumeRun(
  deps: StreamDeps,
  exchange: Exchange,
  run: NonNullable<Awaited<ReturnType<Runs["find"]>>>,
  { asked, owner }: { asked: number; owner: StreamOwner },
  viewOf: () => Promise<Omit<StreamView, "after">> | Omit<StreamView, "after">,
): Promise<Response> | Response {
  if (run.finishedAgoMs !== undefined && asked >= run.lastEventId) return noContent(exchange);
  // The log's end bounds the id, because no client received a higher one: such a request gets the events that follow.
  const after = Math.min(asked, run.lastEventId);
  return withStreamSlot(deps, exchange, { owner, runId: run.runId, wait: false }, async (slot) =>
    streamRun(deps, exchange, run, { ...(await viewOf()), after }, slot),
  );
}

export function runId({ c }: Exchange): string {
  return c.req.param("run_id") ?? "";
}

export function unknownRun(): ServiceError {
  return new ServiceError("not_found", "Run not found");
}

/** Number of the client's last event; 0 for none. */
export function lastEventId({ c }: Exchange): number {
  const header = c.req.header("Last-Event-ID");
  if (header === undefined) return 0;
  if (EVENT_ID.test(header)) return Number(header);
  throw invalid([{ path: "Last-Event-ID", message: "must be the number of the last event received" }]);
}

const MAX_LIMIT = 100;
const THREADS = 50;
const MESSAGES = 100;
const LONGEST_CURSOR = 500;

/** Routes for an agent's threads that exist for the caller. */
export function threadRoutes(deps: CallerDeps & Pick<HttpDeps, "threads" | "reads">) {
  const { runs, threads, reads } = deps;
  const forKey = apiHandler(deps);
  return {
    listThreads: forKey(async (exchange, caller) => {
      const { agentId, orgId } = caller;
      const { sessionId } = exchange.c.req.query();
      const asked = { ...pageOf(exchange, THREADS), ...(sessionId && { sessionId }), ...visibleTo(caller) };
      return json(exchange, 200, await reads.run(asStranger(orgId), () => threads.list(agentId, asked)));
    }),

    getThread: forKey(async (exchange, caller) => {
      const { agentId, orgId } = caller;
      const asked = { ...pageOf(exchange, MESSAGES), ...visibleTo(caller) };
      const thread = await reads.run(asStranger(orgId), () => threads.get(agentId, threadId(exchange), asked));
      if (!thread) throw unknownThread();
      return json(exchange, 200, thread);
    }),

    deleteThread: forKey(async (exchange, caller) => {
      if (!(await runs.eraseThread(caller, threadId(exchange)))) throw unknownThread();
      return noContent(exchange);
    }),
  };
}

/** The requested page of a list. Throws its faults together with the request's `otherFaults`. */
export function pageOf({ c }: Exchange, preset: number, otherFaults: readonly Fault[] = []): PageAsked {
  const { limit: asked, cursor } = c.req.query();
  const limit = asked === undefined || asked === "" ? preset : Number(asked);
  const faults = [...otherFaults];
  // Digits only: Number also reads 0x10 and 1e1.
  if ((asked && !/^\d+$/.test(asked)) || limit < 1 || limit > MAX_LIMIT)
    faults.push({ path: "limit", message: `must be a whole number from 1 to ${MAX_LIMIT}` });
  if (cursor !== undefined && cursor.length > LONGEST_CURSOR)
    faults.push({ path: "cursor", message: "must be a nextCursor of an earlier page" });
  if (faults.length > 0) throw invalid(faults);
  return { limit, ...(cursor && { cursor }) };
}

function threadId({ c }: Exchange): string {
  return c.req.param("thread_id") ?? "";
}

function unknownThread(): ServiceError {
  return new ServiceError("not_found", "Thread not found");
}
