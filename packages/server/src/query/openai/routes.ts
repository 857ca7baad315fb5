import { AsyncLocalStorage } from "node:async_hooks";
import { LIMITS, type Usage } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { invalid } from "@patchbay/engine/ports/service-error";
import { eachOf, type Principal, type RunHandle, statable } from "@patchbay/engine/run/api";
import { type Exchange, type Handler, json } from "../../kernel/exchange.ts";
import { asAdapterCaller, type AdapterCaller, threadKeyOf } from "../caller.ts";
import { begin, counted, countQuery, handedOver, type QueryDeps, receive, streamQuery } from "../query-routes.ts";
import { nameRun } from "../stream-run.ts";
import { type ChatAsked, type Conversation, parseChat, TASKS, UnknownModel } from "./chat-request.ts";
import { chunkTranslator, completionOf } from "./completion.ts";
import { inChatNames, openAiFailure } from "./errors.ts";
import type { ModelList } from "./wire.ts";

/** The endpoints for OpenAI chat completion clients: an agent's roles are its models. */
export function openAiRoutes(deps: QueryDeps): Record<"listModels" | "createChatCompletion", Handler> {
  const { runs, log, clock } = deps;

  /** Answers failures in OpenAI's form, except for disconnected clients. */
  const answering = (exchange: Exchange, work: () => Promise<Response>): Promise<Response> =>
    work().catch((thrown: unknown) => {
      if (exchange.c.req.raw.signal.aborted) throw thrown;
      return openAiFailure(exchange, thrown, log);
    });

  /** An ended run's usage. The run's error is sent even if this read fails. */
  const usageOf = async (run: RunHandle, signal: AbortSignal): Promise<Usage | undefined> => {
    const ended = await runs.result(run, { signal }).catch(() => undefined);
    return ended?.usage;
  };

  return {
    listModels: (exchange) =>
      answering(exchange, () =>
        asAdapterCaller(exchange, deps, async ({ holder }) => {
          await countQuery(exchange, holder, deps.adapterLimit, "requests");
          const { name, roles = [] } = await runs.agentFacts(holder);
          const { agentId } = holder;
          const ids = [agentId, ...(statable(holder) ?? roles), TASKS];
          return json(exchange, 200, {
            object: "list",
            data: ids.map((id, i) => ({
              id: i === 0 ? id : `${agentId}:${id}`,
              object: "model",
              // Clients sort by it, and all models of an agent are equally old.
              created: 0,
              owned_by: name,
            })),
          } satisfies ModelList);
        }),
      ),

    createChatCompletion: (exchange) =>
      answering(exchange, () =>
        counted(deps, "chat-completions", (begun) =>
          asAdapterCaller(exchange, deps, async (caller) => {
            const { holder, context } = caller;
            const conversation = conversationOf(exchange, caller);
            const { form, query, ...received } = await receive(deps, exchange, holder, {
              parse: (body, faults): ChatAsked => parseChat(body, conversation, faults),
              maxBytes: LIMITS.chatBodyBytes,
              headers: present({ ...conversation, context }),
            });
            if (!received.known) await requireModel(deps, holder, { role: query.role, model: form.model });
            const created = Math.floor(clock.now() / 1_000);
            const { signal } = exchange.c.req.raw;
            // A client that disconnects cannot resume its run.
            const asked = { ...received, query: { ...query, ...present({ context }), cancelWhenGone: true } };
            if (form.stream)
              return await streamQuery(deps, exchange, holder, { ...asked, deltas: true }, begun, {
                cancelWhenGone: true,
                translate: (run, reader) =>
                  chunkTranslator(
                    form,
                    { runId: run.runId, created },
                    // The stream is written after this handler has returned.
                    { interrupted: () => reader.answered(), usage: AsyncLocalStorage.bind(() => usageOf(run, signal)) },
                  ),
              });

            const run = begun(await begin(deps, exchange, holder, asked));
            using reader = runs.attach(run, { cancelWhenGone: true });
            nameRun(exchange, run);
            const answer = await runs.result(run, { signal });
            if (!signal.aborted) reader.answered();
            if (!answer) {
              exchange.headers["x-should-retry"] = "false";
              throw handedOver();
            }
            const events = eachOf(runs.follow(run, { after: 0, deltas: false, signal }));
            return json(exchange, 200, await completionOf(answer, events, form, { runId: run.runId, created }));
          }),
        ).catch((thrown: unknown) => {
          if (thrown instanceof UnknownModel) throw thrown;
          return inChatNames(thrown);
        }),
      ),
  };
}

/** A role that no function names is not a model. The run's start refuses a pinned key's other roles. */
async function requireModel(
  { runs }: Pick<QueryDeps, "runs">,
  holder: Principal,
  { role, model }: { role: string | undefined; model: string },
): Promise<void> {
  // The header's role may be one that no function names, as on the other adapters.
  if (role === undefined || model !== `${holder.agentId}:${role}` || holder.roles) return;
  const { roles } = await runs.agentFacts(holder);
  if (roles && !roles.has(role)) throw new UnknownModel(model);
}

const THREAD = "X-Patchbay-Thread";
/** Headers in which clients send a conversation's id: Open WebUI, and LibreChat as the guide configures it. */
const CHAT_IDS = [THREAD, "X-OpenWebUI-Chat-Id", "X-Conversation-Id"];
const SHORTEST_CHAT_ID = 8;
/** A value that the client did not fill in. */
const UNFILLED = /\{\{|^(?:new|null|undefined)$/i;
const THREAD_ID = /^thr_[0-9a-f]{32}$/;

function conversationOf({ c }: Exchange, caller: AdapterCaller): Conversation {
  const named = CHAT_IDS.map((header) => ({ header, id: c.req.header(header)?.trim() ?? "" })).find(
    ({ id }) => id.length >= SHORTEST_CHAT_ID && !UNFILLED.test(id),
  );
  const { holder, role } = caller;
  return { agentId: holder.agentId, ...present({ role, thread: named && threadOf(named, caller) }) };
}

/** A Patchbay thread by its own id, or by the client's id. */
function threadOf({ header, id }: { header: string; id: string }, caller: AdapterCaller): Conversation["thread"] {
  if (id.length > LIMITS.labelUnits)
    throw invalid([{ path: header, message: `must have at most ${LIMITS.labelUnits} characters` }]);
  return header === THREAD && THREAD_ID.test(id) ? { threadId: id } : { externalThread: threadKeyOf(caller, id) };
}
