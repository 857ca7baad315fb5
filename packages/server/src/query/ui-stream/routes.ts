import { type Approval, LIMITS, type ThreadDetail } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { invalid, ServiceError } from "@patchbay/engine/ports/service-error";
import { type Principal, type RunHandle, visibleTo } from "@patchbay/engine/run/api";
import { receiveJson } from "../../kernel/body.ts";
import { codeOf } from "../../kernel/errors.ts";
import { type Exchange, type Handler, json, noContent } from "../../kernel/exchange.ts";
import { asStranger } from "@patchbay/engine/ports/fair-queue";
import { asAdapterCaller, type AdapterCaller, threadKeyOf } from "../caller.ts";
import type { HttpDeps } from "../deps.ts";
import { parse } from "../query-body.ts";
import { type Begun, counted, countQuery, type QueryDeps, streamQuery } from "../query-routes.ts";
import { pageOf } from "../run-routes.ts";
import { withStreamSlot, ownerOf, streamRun, type StreamView, waitsForSlot } from "../stream-run.ts";
import { answerMessage, askedMessage, type UiMessage } from "./messages.ts";
import { ChatId, parseUiRequest, type UiDecision } from "./request.ts";
import { type Beginning, uiTranslator } from "./translator.ts";

const MESSAGES = 50;
/** Event characters after which a page ends. A client shows a few screens at once, and each page is in memory whole. */
const PAGE_UNITS = 4 * 1024 * 1024;

type ChatDeps = QueryDeps & Pick<HttpDeps, "approvals" | "threads" | "reads">;

/** The routes for AI SDK chats: a chat is a thread that the client names. */
export function uiStreamRoutes(
  deps: ChatDeps,
): Record<"uiStream" | "resumeUiStream" | "stopUiStream" | "uiMessages", Handler> {
  const { runs, threads, reads } = deps;

  /** Runs `work` for the thread of the chat in the path; undefined for an unknown chat. */
  const inChat = (
    exchange: Exchange,
    work: (principal: Principal, threadId: string | undefined) => Promise<Response>,
  ): Promise<Response> =>
    asAdapterCaller(exchange, deps, async (caller) => {
      const { principal } = caller;
      await countQuery(exchange, principal, deps.adapterLimit, "requests");
      const id = parse(ChatId, exchange.c.req.param("chat_id"), []);
      return await work(
        principal,
        await threads.ofKey(principal.agentId, threadKeyOf(caller, id), visibleTo(principal)),
      );
    });

  return {
    uiStream: (exchange) =>
      counted(deps, "ui-stream", (begun) =>
        asAdapterCaller(exchange, deps, async (caller) => {
          const { principal, role, context } = caller;
          const limiter = () => countQuery(exchange, principal, deps.rateLimit);
          const asked = parseUiRequest(await receiveJson(exchange, { limiter, maxBytes: LIMITS.chatBodyBytes }));
          const externalThread = threadKeyOf(caller, asked.chatId);
          if (asked.kind === "decisions") {
            const threadId = await threads.ofKey(principal.agentId, externalThread, visibleTo(principal));
            return await decide(deps, exchange, { ...caller, threadId, decisions: asked.decisions }, begun);
          }
          const { query, supersede } = asked;
          const analysisMode = exchange.c.req.query("reasoning") === "1" && mayReason(principal);
          const received = { query, analysisMode, externalThread, ...present({ role, context, supersede }) };
          return await streamQuery(deps, exchange, principal, { query: received, deltas: true }, begun, inMessages());
        }),
      ),

    resumeUiStream: (exchange) =>
      inChat(exchange, async (principal, threadId) => {
        const open = threadId === undefined ? [] : await runs.unended(principal, threadId);
        const run = open.at(-1);
        if (!run) return noContent(exchange);
        return await withStreamSlot(deps, exchange, slotOf(principal, run, false), (slot) =>
          streamRun(deps, exchange, run, viewOf({ joinedAt: run.lastEventId }), slot),
        );
      }),

    stopUiStream: (exchange) =>
      inChat(exchange, async (principal, threadId) => {
        const open = threadId === undefined ? [] : await runs.unended(principal, threadId);
        const cancelled = await Promise.all(open.map(({ runId }) => runs.cancel(principal, runId)));
        const last = cancelled.at(-1);
        return last ? json(exchange, 202, last) : noContent(exchange);
      }),

    uiMessages: (exchange) =>
      inChat(exchange, async (principal, threadId) => {
        const { agentId, orgId } = principal;
        const asked = { ...pageOf(exchange, MESSAGES), ...visibleTo(principal) };
        const page = await reads.run(asStranger(orgId), async () => {
          const thread = threadId === undefined ? undefined : await threads.get(agentId, threadId, asked);
          if (!thread) return { messages: [], nextCursor: null };
          const { messages, read } = await pageOfMessages(deps, agentId, thread);
          if (read === thread.messages.length) return { messages, nextCursor: thread.nextCursor };
          const shorter = await threads.get(agentId, thread.threadId, { ...asked, limit: read });
          return { messages, nextCursor: shorter?.nextCursor ?? null };
        });
        return json(exchange, 200, page);
      }),
  };
}

/** Thoughts may contain what an answer withholds: a client token's creator decides whether its page sees them. */
const mayReason = ({ fixed }: Principal): boolean => fixed === undefined || fixed.reasoning === true;

/** A thread page's messages, up to the size limit. `read`: how many thread messages they cover. */
async function pageOfMessages(
  { runs }: Pick<HttpDeps, "runs">,
  agentId: string,
  thread: ThreadDetail,
): Promise<{ messages: UiMessage[]; read: number }> {
  const messages: UiMessage[] = [];
  const room = { left: PAGE_UNITS };
  // One log at a time: together they may be large.
  for (const [i, message] of thread.messages.entries()) {
    if (message.role !== "user") continue;
    if (room.left < 0) return { messages, read: i };
    const run = { runId: message.runId, threadId: thread.threadId, agentId };
    room.left -= message.content.length;
    const answer = await answerMessage(run, runs.log(run), room);
    // The next page starts with it and has all its results.
    if (room.left < 0 && messages.length > 0) return { messages, read: i };
    messages.push(askedMessage(message), ...(answer ? [answer] : []));
  }
  return { messages, read: thread.messages.length };
}

const MARK = { "x-vercel-ai-ui-message-stream": "v1" };

/**
 * On this adapter every run is one message's stream. A disconnected client resumes it, or stops it by a separate route.
 */
const inMessages = (beginning?: Beginning): Omit<StreamView, "after" | "deltas"> => ({
  cancelWhenGone: false,
  // A client accepts a stream without its last frame as complete, and resumes only one that was cut.
  cutsShort: true,
  headers: MARK,
  translate: (run) => uiTranslator(run, beginning),
});

const viewOf = (beginning: Beginning): StreamView => ({ ...inMessages(beginning), after: 0, deltas: true });

const slotOf = (principal: Principal, { runId }: RunHandle, wait: boolean) => ({
  owner: ownerOf(principal),
  runId,
  wait,
});

/** Decides a message's approvals and streams the run's continuation in the same message. */
async function decide(
  deps: ChatDeps,
  exchange: Exchange,
  asked: AdapterCaller & { threadId: string | undefined; decisions: readonly UiDecision[] },
  begun: (run: Begun) => RunHandle,
): Promise<Response> {
  const { approvals } = deps;
  const { principal, role, threadId, decisions } = asked;
  if (role === undefined && principal.roles?.length !== 1)
    throw invalid([{ path: "X-Patchbay-Role", message: "is required: name the role that decides" }]);
  // All are checked before any is decided: a request with an approval from another chat, or one that the caller may not
  // decide, decides nothing.
  const found: Approval[] = [];
  for (const { id } of decisions) {
    const approval = await approvals.decidable(principal, id);
    if (approval.threadId !== threadId || approval.runId !== (found[0] ?? approval).runId)
      throw new ServiceError("not_found", "Approval not found");
    found.push(approval);
  }
  const { runId, threadId: ofRun } = found[0]!;
  for (const { id, approved, reason } of decisions)
    await approvals.decide(principal, id, { approved, ...present({ reason }) }).catch((error: unknown) => {
      // Already decided, elsewhere or by this request's first delivery: the stream shows how.
      if (codeOf(error) !== "conflict") throw error;
    });
  const run = begun({ run: { runId, threadId: ofRun, agentId: principal.agentId }, joined: true });
  const pending = await approvals.list(principal, { runId, status: "pending", limit: 1 });
  const decided = decisions.map(({ id }) => id);
  const beginning = pending.items.length > 0 ? { decided, waits: true } : { decided };
  return await withStreamSlot(deps, exchange, slotOf(principal, run, waitsForSlot(principal)), (slot) =>
    streamRun(deps, exchange, run, viewOf(beginning), slot),
  );
}
