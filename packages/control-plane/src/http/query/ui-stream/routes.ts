import { type Approval, LIMITS, present, type ThreadDetail } from "@patchbay/protocol";
import { invalid, ServiceError } from "../../../ports/service-error.ts";
import type { Principal, RunHandle } from "../../../run/api.ts";
import { parseBody, readBody, requireJsonType } from "../../kernel/body.ts";
import { codeOf } from "../../kernel/errors.ts";
import { type Exchange, type Handler, json, noContent } from "../../kernel/exchange.ts";
import { asStranger } from "../../kernel/fair-queue.ts";
import { asDoorCaller, type DoorCaller } from "../caller.ts";
import type { HttpDeps } from "../deps.ts";
import { parse } from "../query-body.ts";
import { type Begun, counted, countQuery, streamQuery } from "../query-routes.ts";
import { pageOf } from "../run-routes.ts";
import { onPlace, ownerOf, streamRun, type StreamView, waitsForPlace } from "../stream-run.ts";
import { answerMessage, askedMessage, type UiMessage } from "./messages.ts";
import { ChatId, parseUiRequest, type UiDecision } from "./request.ts";
import { type Beginning, UiTranslator } from "./translator.ts";

const MESSAGES = 50;
/** Characters of events after which a page ends. A client shows a few screens of a chat, and each page is in memory at once. */
const PAGE_UNITS = 4 * 1024 * 1024;

/** The routes of the AI SDK's chats: a chat is a thread, which the client names. */
export function uiStreamRoutes(
  deps: HttpDeps,
): Record<"uiStream" | "resumeUiStream" | "stopUiStream" | "uiMessages", Handler> {
  const { runs, threads, reads } = deps;

  /** Runs `work` for the thread of the chat in the path; undefined for an unknown chat. */
  const inChat = (
    exchange: Exchange,
    work: (principal: Principal, threadId: string | undefined) => Promise<Response>,
  ): Promise<Response> =>
    asDoorCaller(exchange, deps, async ({ principal, threadScope: scope, threadKey }) => {
      await countQuery(exchange, principal, deps.doorLimit, "requests");
      const id = parse(ChatId, exchange.c.req.param("chat_id"), []);
      return await work(principal, await threads.ofKey(principal.agentId, { scope, id: threadKey ?? id }));
    });

  return {
    uiStream: (exchange) =>
      counted(deps, "ui-stream", (begun) =>
        asDoorCaller(exchange, deps, async (caller) => {
          const { principal, role, context, threadScope: scope, threadKey } = caller;
          await countQuery(exchange, principal, deps.rateLimit);
          requireJsonType(exchange);
          const asked = parseUiRequest(parseBody(await readBody(exchange, LIMITS.chatBodyBytes)));
          const externalThread = { scope, id: threadKey ?? asked.chatId };
          if (asked.kind === "decisions") {
            const threadId = await threads.ofKey(principal.agentId, externalThread);
            return await decide(deps, exchange, { ...caller, threadId, decisions: asked.decisions }, begun);
          }
          const { query, supersede } = asked;
          const analysisMode = exchange.c.req.query("reasoning") === "1";
          const received = { query, analysisMode, externalThread, ...present({ role, context, supersede }) };
          return await streamQuery(deps, exchange, principal, { query: received, deltas: true }, begun, inMessages());
        }),
      ),

    resumeUiStream: (exchange) =>
      inChat(exchange, async (principal, threadId) => {
        const open = threadId === undefined ? [] : await runs.unended(principal, threadId);
        const run = open.at(-1);
        if (!run) return noContent(exchange);
        return await onPlace(deps, exchange, placeOf(principal, run, false), (place) =>
          streamRun(deps, exchange, run, viewOf({ joinedAt: run.lastEventId }), place),
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
      inChat(exchange, async ({ agentId, orgId, roles }, threadId) => {
        const asked = { ...pageOf(exchange, MESSAGES), ...present({ roles }) };
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

/** The messages of a page of a thread, up to the size of a page. `read`: how many messages of the thread they are. */
async function pageOfMessages(
  { runs }: Pick<HttpDeps, "runs">,
  agentId: string,
  thread: ThreadDetail,
): Promise<{ messages: UiMessage[]; read: number }> {
  const messages: UiMessage[] = [];
  const room = { left: PAGE_UNITS };
  // One log at a time: together they may be large.
  for (const [i, one] of thread.messages.entries()) {
    if (one.role !== "user") continue;
    if (room.left < 0) return { messages, read: i };
    const run = { runId: one.runId, threadId: thread.threadId, agentId };
    room.left -= one.content.length;
    const answer = await answerMessage(run, runs.log(run), room);
    // On the next page it is the first, with all its results.
    if (room.left < 0 && messages.length > 0) return { messages, read: i };
    messages.push(askedMessage(one), ...(answer ? [answer] : []));
  }
  return { messages, read: thread.messages.length };
}

const MARK = { "x-vercel-ai-ui-message-stream": "v1" };

/** Every run of this door is the stream of one message. A client that goes away resumes it, or stops it by its own route. */
const inMessages = (beginning?: Beginning): Omit<StreamView, "after" | "deltas"> => ({
  cancelWhenGone: false,
  // A client takes a stream that ends without its last frame for a whole one, and resumes only what was cut.
  cutsShort: true,
  headers: MARK,
  translate: (run) => new UiTranslator(run, beginning),
});

const viewOf = (beginning: Beginning): StreamView => ({ ...inMessages(beginning), after: 0, deltas: true });

const placeOf = (principal: Principal, { runId }: RunHandle, wait: boolean) => ({
  owner: ownerOf(principal),
  runId,
  wait,
});

/** Makes the decisions of a message and streams how the run continues, in the same message. */
async function decide(
  deps: HttpDeps,
  exchange: Exchange,
  asked: DoorCaller & { threadId: string | undefined; decisions: readonly UiDecision[] },
  begun: (run: Begun) => RunHandle,
): Promise<Response> {
  const { approvals } = deps;
  const { principal, role, threadId, decisions } = asked;
  if (role === undefined && principal.roles?.length !== 1)
    throw invalid([{ path: "X-Patchbay-Role", message: "is required: name the role that decides" }]);
  // All are checked before one is decided: a request with an approval of another chat, or one that the caller may not decide, decides nothing.
  const found: Approval[] = [];
  for (const { id } of decisions) {
    const one = await approvals.decidable(principal, id);
    if (one.threadId !== threadId || one.runId !== (found[0] ?? one).runId)
      throw new ServiceError("not_found", "Approval not found");
    found.push(one);
  }
  const { runId, threadId: ofRun } = found[0]!;
  for (const { id, approved, reason } of decisions)
    await approvals.decide(principal, id, { approved, ...present({ reason }) }).catch((error: unknown) => {
      // Decided before, by a person elsewhere or by the same request when it was sent first: the stream shows how.
      if (codeOf(error) !== "conflict") throw error;
    });
  const run = begun({ run: { runId, threadId: ofRun, agentId: principal.agentId }, joined: true });
  const pending = await approvals.list(principal, { runId, status: "pending", limit: 1 });
  const decided = decisions.map(({ id }) => id);
  const beginning = pending.items.length > 0 ? { decided, waits: true } : { decided };
  return await onPlace(deps, exchange, placeOf(principal, run, waitsForPlace(principal)), (place) =>
    streamRun(deps, exchange, run, viewOf(beginning), place),
  );
}
