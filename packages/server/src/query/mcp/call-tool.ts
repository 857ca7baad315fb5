import { addAbortListener } from "node:events";
import {
  type CallToolResult,
  inputRequired,
  type InputRequiredResult,
  isInputRequiredResult,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { type FunctionManifest, type QueryResponse, traceOfHeaders } from "@patchbay/protocol";
import { isJsonObject, type JsonObject, present } from "@patchbay/kit";
import { directCall, type Query, type RunHandle } from "@patchbay/engine/run/api";
import { hashJson } from "../../kernel/body.ts";
import { noteRun } from "../stream-run.ts";
import { identityOf, openQuestion, type OpenQuestion } from "./elicitation.ts";
import { fieldsOf, type Missing, missingIn } from "./form.ts";
import { progressOf } from "./progress.ts";
import * as questions from "./questions.ts";
import { type Asked, continuing, elsewhere, failed, handedOver, metaOf, unknownState, unknownTool } from "./results.ts";

type Result = CallToolResult | InputRequiredResult;

/** One tool call. */
interface Call {
  request: questions.McpRequest;
  ctx: ServerContext;
  /** The function; undefined for a whole query, and for a function that does not exist for the role. */
  fn?: FunctionManifest | undefined;
  input: JsonObject;
  /**
   * The caller and the call, if a person may have to approve it. A run whose outcome the client did not get is detached
   * under this name, and the client repeats the call to get the outcome.
   */
  name?: string | undefined;
  queryOf(input: JsonObject): Query;
  answered(answer: QueryResponse): CallToolResult;
}

/** A call is begun, its missing arguments are asked for, its run is followed and confirmed, until the client is answered. */
type State =
  | { at: "ask" }
  | { at: "start"; query: Query }
  | { at: "attach"; run: RunHandle }
  /** `question`: the client's user sees it, until the run continues. */
  | { at: "follow"; run: RunHandle; question?: OpenQuestion | undefined }
  | { at: "confirm"; run: RunHandle; answer: QueryResponse; asked: Asked; question: OpenQuestion | undefined }
  | { at: "answer"; result: Result };

/** One function call in its own run. */
export const callFunction = (
  request: questions.McpRequest,
  { tool, input, fn }: { tool: string; input: JsonObject; fn: FunctionManifest | undefined },
  ctx: ServerContext,
): Promise<Result> =>
  toAnswer({
    request,
    ctx,
    fn,
    input,
    name: fn?.approval && hashJson([...identityOf(request.caller), fn.name, input]),
    queryOf: (given) => ({ ...directCall(fn?.name ?? tool, given), needsCredit: true }),
    answered(answer) {
      const [call] = answer.toolInteractions;
      // A hidden function's call is stored, audited and answered like an unknown function's.
      if (!fn) throw unknownTool(tool);
      if (!call) return failed(answer, answer.errorMessage, answer.code);
      if (!call.success) return failed(answer, call.errorMessage ?? "", call.code);
      const { result } = call;
      if (result === undefined)
        return {
          content: [{ type: "text", text: "The function ran. Its result is withheld." }],
          _meta: metaOf(answer),
        };
      const text = typeof result === "string" ? result : JSON.stringify(result);
      return { content: [{ type: "text", text }], structuredContent: result, _meta: metaOf(answer) };
    },
  });

/** A whole query in its own thread. */
export const askAgent = (request: questions.McpRequest, query: string, ctx: ServerContext): Promise<Result> =>
  toAnswer({
    request,
    ctx,
    input: {},
    queryOf: () => ({ query, analysisMode: false }),
    answered(answer) {
      const result = answer.success
        ? { content: [{ type: "text" as const, text: answer.response }], _meta: metaOf(answer) }
        : failed(answer, answer.errorMessage, answer.code);
      return { ...result, _meta: { ...result._meta, "patchbay/threadId": answer.threadId } };
    },
  });

async function toAnswer(call: Call): Promise<Result> {
  // Ends with the answer: the client's reading, and its question.
  using open = new DisposableStack();
  let state = await begin(call);
  for (;;)
    switch (state.at) {
      case "ask":
        state = await ask(call);
        break;
      case "start":
        state = { at: "attach", run: await start(call, state.query) };
        break;
      case "attach":
        attach(call, state.run, open);
        state = { at: "follow", run: state.run };
        break;
      case "follow":
        state = await follow(call, state.run, state.question);
        break;
      case "confirm":
        state = await confirm(call, state, open);
        break;
      case "answer":
        return state.result;
    }
}

/**
 * Attaches to the run of an equal call whose outcome the client did not get: the run whose question this call answers,
 * or else one that is decided elsewhere.
 */
async function begin({ request: { deps, caller }, ctx, name }: Call): Promise<State> {
  // Compared, not signed: it gives no right, and only names a run with the same caller and call.
  const state: unknown = ctx.mcpReq.requestState?.();
  // With arguments from the client's user, the call has no run yet.
  if (name === undefined || (state !== undefined && questions.givenIn(ctx))) return { at: "ask" };
  const run = await deps.runs.reattach(caller.principal, state === undefined ? name : askedAs(name, state));
  if (run) return { at: "attach", run };
  if (state !== undefined) throw unknownState();
  return { at: "ask" };
}

/** A call that answers a question names its run: a simultaneous equal call is a different one. */
const askedAs = (name: string, runId: unknown): string => hashJson([name, runId]);

/**
 * Lets the client's user give the arguments that are missing. What the user does not give stays absent, and the runtime
 * refuses the call.
 */
async function ask({ request, ctx, fn, input, queryOf }: Call): Promise<State> {
  if (!fn) return { at: "start", query: queryOf(input) };
  const before = questions.givenIn(ctx);
  if (!before) throw unknownState();
  const missing = questions.asksUser(request, ctx) ? missingIn(fn, input) : [];
  const given: JsonObject = {};
  const open: Missing[] = [];
  for (const argument of missing) {
    const { name, question } = argument;
    const reply = request.ask ? await questions.replyTo(request, question) : ctx.mcpReq.inputResponses?.[name];
    const { action, content } = isJsonObject(reply) ? reply : {};
    const value = action === "accept" && isJsonObject(content) ? argument.valueIn(content) : before[name];
    if (value !== undefined) given[name] = value;
    // The user declined or filled in nothing: asking again would not help.
    else if (action !== undefined || request.ask) break;
    else open.push(argument);
  }
  if (open.length === 0) return { at: "start", query: queryOf({ ...input, ...given }) };
  const inputRequests = Object.fromEntries(open.map(({ name, question }) => [name, inputRequired.elicit(question)]));
  return { at: "answer", result: inputRequired({ requestState: questions.stateOf(given), inputRequests }) };
}

function start({ request: { deps, caller, origin }, ctx: { mcpReq } }: Call, query: Query): Promise<RunHandle> {
  const { principal, role, context } = caller;
  // The client's span for the call, from `_meta`. It is nearer than the HTTP request's span, if both are present.
  const trace = traceOfHeaders((name) => {
    const value = mcpReq._meta?.[name];
    return typeof value === "string" ? value : undefined;
  });
  // `cancelWhenGone` is for a process that takes over the run; this one cancels it at once.
  return deps.runs.start(principal, {
    ...query,
    ...origin,
    cancelWhenGone: true,
    ...present({ trace, role, context }),
  });
}

/** Makes the client a reader of the run. The run is cancelled with the connection: the client cannot resume it. */
function attach({ request: { deps, facts, gone, caller } }: Call, run: RunHandle, open: DisposableStack): void {
  const { runs, within, log } = deps;
  const { runId } = run;
  noteRun(facts, run);
  const reader = open.use(runs.attach(run, { cancelWhenGone: false }));
  // Unless the connection ended, the client has an answer, and the run may continue without it.
  open.defer(() => {
    if (!gone.aborted) reader.answered();
  });
  const cancel = () =>
    void within(caller.principal.orgId, () => runs.cancel(caller.principal, runId)).catch((cause: unknown) =>
      log.warn("a run could not be cancelled", { runId, cause }),
    );
  open.use(addAbortListener(gone, cancel));
}

/**
 * Waits for the run's end or the approvals that it waits for: at once, or after the open question was dismissed or not
 * answered in time. Throws when the process drains first, and when the caller's access ends; the run continues.
 */
async function follow(call: Call, run: RunHandle, question: OpenQuestion | undefined): Promise<State> {
  const { request, ctx, name, answered } = call;
  const { runs } = request.deps;
  const over = AbortSignal.any([request.gone, request.revoked]);
  await using progress = progressOf(request.deps, run, ctx, over);
  const replied =
    question &&
    (await runs.result(run, {
      signal: AbortSignal.any([over, question.dismissed]),
      waitMs: questions.REPLY_MS,
      pauses: "approval",
    }));
  // Undefined if the question was dismissed after a decision elsewhere: the run continues.
  const answer = replied ?? (await runs.result(run, { signal: over, pauses: "approval" }));
  request.revoked.throwIfAborted();
  if (!answer) {
    if (name !== undefined) await runs.detach(run, name);
    throw handedOver(run);
  }
  const [asked] = answer.approvals ?? [];
  if (asked) return { at: "confirm", run, answer, asked, question };
  // The log ends with its run: its remaining progress comes before the result.
  await progress.reported;
  return { at: "answer", result: answered(answer) };
}

const ACTIONS: ReadonlySet<unknown> = new Set(["accept", "decline", "cancel"]);

/**
 * Lets the client's user decide the approval, if the caller may confirm its own calls and the client can show the
 * question. Otherwise the client learns where it is decided.
 */
async function confirm(
  { request, ctx, fn, name }: Call,
  { run, answer, asked, question }: Extract<State, { at: "confirm" }>,
  open: DisposableStack,
): Promise<State> {
  const { deps, caller, ask, approvalUrl } = request;
  const { approvalId, parameters } = asked;
  // The client cannot return to the run: a repeated query starts another one.
  if (!fn || name === undefined) return { at: "answer", result: continuing(approvalUrl, asked, answer) };
  const leave = async (result: Result = elsewhere(approvalUrl, asked)): Promise<State> => {
    await deps.runs.detach(run, isInputRequiredResult(result) ? askedAs(name, run.runId) : name);
    return { at: "answer", result };
  };
  // After a question, the client's user dismissed it or did not decide in time.
  if (question || !questions.asksUser(request, ctx) || !questions.mayConfirm(request, asked)) return await leave();
  const { edit } = await deps.approvals.get(caller.principal, approvalId);
  const fields = fieldsOf(fn.inputSchema, parameters, edit);
  if (ask) {
    const shown = open.use(openQuestion(request, (reply) => questions.decide(request, asked, fields, reply)));
    await ask(shown.id, questions.questionOf(asked, fields));
    return { at: "follow", run, question: shown };
  }
  // Without a state, the client was not asked about this approval.
  const reply = ctx.mcpReq.requestState() === undefined ? undefined : ctx.mcpReq.inputResponses?.[approvalId];
  if (!isJsonObject(reply) || !ACTIONS.has(reply["action"])) {
    const inputRequests = { [approvalId]: inputRequired.elicit(questions.questionOf(asked, fields)) };
    return await leave(inputRequired({ requestState: run.runId, inputRequests }));
  }
  return (await questions.decide(request, asked, fields, reply)) ? { at: "follow", run } : await leave();
}
