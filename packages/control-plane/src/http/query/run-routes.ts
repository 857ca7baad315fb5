import { type Fault, Feedback } from "@patchbay/protocol";
import { invalid, ServiceError } from "../../ports/service-error.ts";
import type { Principal } from "../../run/api.ts";
import { parseBody, readBody, requireJsonType } from "../kernel/body.ts";
import { queryTranslator } from "../kernel/event-stream.ts";
import { type Exchange, type Handler, json, noContent } from "../kernel/exchange.ts";
import { asStranger } from "../kernel/fair-queue.ts";
import { asApiCaller, asLocalCaller } from "./caller.ts";
import type { HttpDeps } from "./deps.ts";
import { toLocalJson } from "./local-events.ts";
import { parse } from "./query-body.ts";
import { onPlace, ownerOf, streamRun, type StreamView } from "./stream-run.ts";

/** How long after its end the events of a run can be replayed. */
const REPLAY_MS = 24 * 3_600_000;
const EVENT_ID = /^\d{1,15}$/;

/** Routes of an existing run: follow, read, cancel and rate it. */
export function runRoutes(
  deps: HttpDeps,
): Record<"runEvents" | "localRunEvents" | "cancelRun" | "getRun" | "sendFeedback" | "deleteFeedback", Handler> {
  const { runs } = deps;

  async function resume(exchange: Exchange, caller: Principal, view: Pick<StreamView, "deltas" | "translate">) {
    const asked = lastEventId(exchange);
    const run = await runs.find(caller, runId(exchange));
    if (!run || (run.finishedAgoMs ?? 0) > REPLAY_MS) throw unknownRun();
    if (run.finishedAgoMs !== undefined && asked >= run.lastEventId) return noContent(exchange);
    // No client received an id beyond the end of the log: such a request gets the events that follow.
    const after = Math.min(asked, run.lastEventId);
    return onPlace(deps, exchange, { owner: ownerOf(caller), runId: run.runId, wait: false }, async (place) => {
      const cancelWhenGone = run.finishedAgoMs === undefined && (await runs.cancelsWhenGone(run));
      return streamRun(deps, exchange, run, { ...view, after, cancelWhenGone }, place);
    });
  }

  return {
    runEvents: (exchange) =>
      asApiCaller(exchange, deps, (caller) =>
        resume(exchange, caller, { deltas: exchange.c.req.query("includeDeltas") === "true" }),
      ),

    localRunEvents: (exchange) =>
      asLocalCaller(exchange, deps, (caller) => {
        const deltas = exchange.c.req.query("include_deltas") === "true";
        return resume(exchange, caller, { deltas, translate: () => queryTranslator(toLocalJson) });
      }),

    cancelRun: (exchange) =>
      asApiCaller(exchange, deps, async (caller) => {
        const cancelled = await runs.cancel(caller, runId(exchange));
        if (!cancelled) throw unknownRun();
        const stillEnding = ["queued", "running", "waiting"].includes(cancelled.status);
        return json(exchange, stillEnding ? 202 : 200, cancelled);
      }),

    sendFeedback: (exchange) =>
      asApiCaller(exchange, deps, async (caller) => {
        requireJsonType(exchange);
        const feedback = parse(Feedback, parseBody(await readBody(exchange)), []);
        if (!(await runs.recordFeedback(caller, runId(exchange), feedback))) throw unknownRun();
        return noContent(exchange);
      }),

    deleteFeedback: (exchange) =>
      asApiCaller(exchange, deps, async (caller) => {
        if (!(await runs.deleteFeedback(caller, runId(exchange)))) throw unknownRun();
        return noContent(exchange);
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

/** Number of the last event that the client received; 0 for none. */
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

/** Routes of an agent's threads. Keys that are pinned to roles see only runs of these roles. */
export function threadRoutes(deps: HttpDeps): Record<"listThreads" | "getThread" | "deleteThread", Handler> {
  const { runs, threads, reads } = deps;
  return {
    listThreads: (exchange) =>
      asApiCaller(exchange, deps, async ({ agentId, orgId, roles }) => {
        const { sessionId } = exchange.c.req.query();
        const asked = { ...pageOf(exchange, THREADS), ...(sessionId && { sessionId }), ...(roles && { roles }) };
        return json(exchange, 200, await reads.run(asStranger(orgId), () => threads.list(agentId, asked)));
      }),

    getThread: (exchange) =>
      asApiCaller(exchange, deps, async ({ agentId, orgId, roles }) => {
        const asked = { ...pageOf(exchange, MESSAGES), ...(roles && { roles }) };
        const thread = await reads.run(asStranger(orgId), () => threads.get(agentId, threadId(exchange), asked));
        if (!thread) throw unknownThread();
        return json(exchange, 200, thread);
      }),

    deleteThread: (exchange) =>
      asApiCaller(exchange, deps, async (caller) => {
        if (!(await runs.eraseThread(caller, threadId(exchange)))) throw unknownThread();
        return noContent(exchange);
      }),
  };
}

/** The page that a list is asked for. */
export function pageOf({ c }: Exchange, preset: number): { limit: number; cursor?: string } {
  const { limit: asked, cursor } = c.req.query();
  const limit = asked === undefined || asked === "" ? preset : Number(asked);
  const faults: Fault[] = [];
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
