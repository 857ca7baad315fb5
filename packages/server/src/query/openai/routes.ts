import { AsyncLocalStorage } from "node:async_hooks";
import { type Fault, LIMITS, type QueryResponse, type Usage } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { QueryEndpoint } from "@patchbay/engine/ports/metrics";
import { invalid } from "@patchbay/engine/ports/service-error";
import { eachOf, type Followed, type Principal, type Query, type RunHandle, statable } from "@patchbay/engine/run/api";
import type { Translator } from "../../kernel/event-stream.ts";
import { type Exchange, type Handler, json } from "../../kernel/exchange.ts";
import { asAdapterCaller, type AdapterCaller, threadKeyOf } from "../caller.ts";
import { inNames } from "../query-body.ts";
import {
  begin,
  type Begun,
  counted,
  countQuery,
  handedOver,
  type QueryDeps,
  receive,
  type Received,
  streamQuery,
} from "../query-routes.ts";
import { nameRun } from "../stream-run.ts";
import type { StreamedRun } from "./answer-stream.ts";
import { type ChatForm, type Conversation, parseChat, TASKS, UnknownModel } from "./chat-request.ts";
import { chunkTranslator, completionOf, type Ids } from "./completion.ts";
import { RunEndedError, runFailure } from "./errors.ts";
import { responseTranslator, wholeResponse } from "./response.ts";
import { continued, parseResponses } from "./responses-request.ts";
import type { Model, ModelList } from "./wire.ts";

const THREAD = "X-Patchbay-Thread";

/** One of OpenAI's APIs for a query. */
interface Api<Form extends ChatForm> {
  endpoint: QueryEndpoint;
  parse(body: unknown, conversation: Conversation, faults: readonly Fault[]): { query: Query; form: Form };
  /** The query of a new run. Default: the one in the body. */
  complete?(holder: Principal, asked: { query: Query; form: Form }): Promise<Query>;
  whole(answer: QueryResponse, events: AsyncIterable<Followed>, form: Form, ids: Ids): Promise<object>;
  translator(form: Form, ids: Ids, run: StreamedRun): Translator;
  /** The names of the body's members, by those of a query. */
  names: Readonly<Record<string, string>>;
}

const HEADERS = { contextJson: "X-Patchbay-Context", threadId: THREAD };

/** The endpoints for clients of OpenAI's API: an agent's roles are its models. */
export function openAiRoutes(
  deps: QueryDeps,
): Record<"listModels" | "getModel" | "createChatCompletion" | "createResponse", Handler> {
  const models = (exchange: Exchange, answer: (models: Model[]) => object): Promise<Response> =>
    asAdapterCaller(exchange, deps, async ({ holder }) => {
      await countQuery(exchange, holder, deps.adapterLimit, "requests");
      const { name, roles = [] } = await deps.runs.agentFacts(holder);
      const { agentId, taskModel = [] } = holder;
      const own = [...(statable(holder) ?? roles), TASKS].map((role) => `${agentId}:${role}`);
      const ids = [agentId, ...own].concat(taskModel);
      // Clients sort by `created`, and all models of an agent are equally old.
      return json(exchange, 200, answer(ids.map((id) => ({ id, object: "model", created: 0, owned_by: name }))));
    });

  return {
    listModels: (exchange) => models(exchange, (data) => ({ object: "list", data }) satisfies ModelList),

    getModel: (exchange) =>
      models(exchange, (all) => {
        const asked = exchange.c.req.param("model") ?? "";
        const model = all.find(({ id }) => id === asked);
        if (!model) throw new UnknownModel(asked);
        return model;
      }),

    createChatCompletion: answering(deps, {
      endpoint: "chat-completions",
      parse: parseChat,
      whole: completionOf,
      translator: chunkTranslator,
      names: { ...HEADERS, responseSchema: "response_format.json_schema.schema", max_tokens: "max_completion_tokens" },
    }),

    createResponse: answering(deps, {
      endpoint: "responses",
      parse: parseResponses,
      complete: (holder, asked) => continued(deps, holder, asked),
      whole: wholeResponse,
      translator: responseTranslator,
      names: { ...HEADERS, responseSchema: "text.format.schema", max_tokens: "max_output_tokens" },
    }),
  };
}

const answering =
  <Form extends ChatForm>(deps: QueryDeps, api: Api<Form>): Handler =>
  (exchange) =>
    counted(deps, api.endpoint, (begun) =>
      asAdapterCaller(exchange, deps, async (caller) => {
        const { holder, context } = caller;
        const { sendsNewest, ...conversation } = conversationOf(exchange, caller);
        const { form, query, ...received } = await receive(deps, exchange, holder, {
          parse: (body, faults) => api.parse(body, { ...conversation, ...present({ sendsNewest }) }, faults),
          maxBytes: LIMITS.chatBodyBytes,
          headers: present({ ...conversation, context }),
        });
        if (!received.known) await requireModel(deps, holder, { role: query.role, model: form.model });
        const whole = (!received.known && (await api.complete?.(holder, { query, form }))) || query;
        // A client that disconnects cannot resume its run.
        const asked = { ...received, query: { ...whole, ...present({ context }), cancelWhenGone: true } };
        return await answer(deps, api, exchange, holder, { form, asked, begun }).catch(inNames(api.names));
      }),
    ).catch((thrown: unknown) => {
      if (!(thrown instanceof RunEndedError) || exchange.c.req.raw.signal.aborted) throw thrown;
      return runFailure(exchange, thrown);
    });

async function answer<Form extends ChatForm>(
  deps: QueryDeps,
  api: Api<Form>,
  exchange: Exchange,
  holder: Principal,
  { form, asked, begun }: { form: Form; asked: Received; begun: (run: Begun) => RunHandle },
): Promise<Response> {
  const { runs, clock } = deps;
  const created = Math.floor(clock.now() / 1_000);
  const { signal } = exchange.c.req.raw;
  /** The run's error is sent even if this read fails. */
  const usageOf = async (run: RunHandle): Promise<Usage | undefined> =>
    (await runs.result(run, { signal }).catch(() => undefined))?.usage;
  if (form.stream)
    return await streamQuery(deps, exchange, holder, { ...asked, deltas: true }, begun, {
      cancelWhenGone: true,
      translate: (run, reader) =>
        api.translator(
          form,
          { runId: run.runId, created },
          // The stream is written after this handler has returned.
          { interrupted: () => reader.answered(), usage: AsyncLocalStorage.bind(() => usageOf(run)) },
        ),
    });

  const run = begun(await begin(deps, exchange, holder, asked));
  using reader = runs.attach(run, { cancelWhenGone: true });
  nameRun(exchange, run);
  const ended = await runs.result(run, { signal });
  if (!signal.aborted) reader.answered();
  if (!ended) {
    exchange.headers["x-should-retry"] = "false";
    throw handedOver();
  }
  const events = eachOf(runs.follow(run, { after: 0, deltas: false, signal }));
  return json(exchange, 200, await api.whole(ended, events, form, { runId: run.runId, created }));
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
  const thread = named && threadOf(named, caller);
  // Chat apps send the whole conversation with their own headers.
  const sendsNewest = named?.header === THREAD ? true : undefined;
  return { agentId: holder.agentId, ...present({ taskModel: holder.taskModel, role, thread, sendsNewest }) };
}

/** A Patchbay thread by its own id, or by the client's id. */
function threadOf({ header, id }: { header: string; id: string }, caller: AdapterCaller): Conversation["thread"] {
  if (id.length > LIMITS.labelUnits)
    throw invalid([{ path: header, message: `must have at most ${LIMITS.labelUnits} characters` }]);
  return header === THREAD && THREAD_ID.test(id) ? { threadId: id } : { externalThread: threadKeyOf(caller, id) };
}
