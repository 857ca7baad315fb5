import type { Fault } from "@patchbay/protocol";
import { invalid, ServiceError } from "../ports/service-error.ts";
import { asApiCaller } from "./caller.ts";
import type { Exchange, Handler, HttpDeps } from "./deps.ts";
import { asStranger } from "./fair-queue.ts";
import { json, noContent } from "./reply.ts";

const MAX_LIMIT = 100;
const THREADS = 50;
const MESSAGES = 100;
const LONGEST_CURSOR = 500;

/** An agent's threads, as far as the key may see them. */
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

function pageOf({ c }: Exchange, preset: number): { limit: number; cursor?: string } {
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
