import {
  type CallToolResult,
  isInputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import {
  type FunctionManifest,
  type JsonObject,
  present,
  type QueryResponse,
  type TraceContext,
  traceOfHeaders,
} from "@patchbay/protocol";
import { ServiceError } from "../../../ports/service-error.ts";
import { directCall, type Query, type RunHandle } from "../../../run/api.ts";
import { hashJson } from "../../kernel/body.ts";
import { noteRun } from "../stream-run.ts";
import { type Asked, confirm, elsewhere, type McpRequest, REPLY_MS, type Result } from "./confirm.ts";
import { identityOf, type OpenQuestion } from "./elicitation.ts";
import { complete, givenIn, unknownState } from "./missing-arguments.ts";
import { reportProgress } from "./progress.ts";

/** One call of a function in a run of its own. `fn` is undefined if it does not exist for the role. */
export async function callFunction(
  request: McpRequest,
  { tool, input, fn }: { tool: string; input: JsonObject; fn: FunctionManifest | undefined },
  ctx: ServerContext,
): Promise<Result> {
  const repeated = fn?.approval && {
    name: hashJson([...identityOf(request.caller), fn.name, input]),
    inputSchema: fn.inputSchema,
  };
  const left = repeated && (await takeLeft(request, repeated, ctx));
  const given = left || !fn ? { input } : await complete(request, { fn, input }, ctx);
  if (given.result) return given.result;
  const query = { ...directCall(fn?.name ?? tool, given.input), needsCredit: true };
  return await inRun(request, { query, left, repeated }, ctx, (answer) => {
    const [call] = answer.toolInteractions;
    // The call of a hidden function is stored and audited like that of an unknown one, and answered alike.
    if (!fn) throw unknownTool(tool);
    if (!call) return failed(answer, answer.errorMessage, answer.code);
    if (!call.success) return failed(answer, call.errorMessage ?? "", call.code);
    const { result = null } = call;
    const text = typeof result === "string" ? result : JSON.stringify(result);
    return { content: [{ type: "text", text }], structuredContent: result, _meta: metaOf(answer) };
  });
}

/** A whole query in a thread of its own. */
export async function askAgent(request: McpRequest, query: string, ctx: ServerContext): Promise<Result> {
  return await inRun(request, { query: { query, analysisMode: false } }, ctx, (answer) => {
    const thread = { "patchbay/threadId": answer.threadId };
    if (answer.success)
      return { content: [{ type: "text", text: answer.response }], _meta: { ...metaOf(answer), ...thread } };
    const result = failed(answer, answer.errorMessage, answer.code);
    return { ...result, _meta: { ...result._meta, ...thread } };
  });
}

export const unknownTool = (tool: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${tool}`);

/** What a call needs that waits for a person, because its client makes it again to get the outcome. */
interface Repeated {
  /** The caller and the call, under which a run is left whose outcome the client did not get. */
  name: string;
  inputSchema: JsonObject;
}

interface Begun {
  query: Query;
  /** The run that an earlier request of the client began, in place of a new one. */
  left?: RunHandle | undefined;
  repeated?: Repeated | undefined;
}

/** Begins the run, or continues with the one that was left, and answers with its end or with what it waits for. */
async function inRun(
  request: McpRequest,
  { query, left, repeated }: Begun,
  ctx: ServerContext,
  answered: (answer: QueryResponse) => CallToolResult,
): Promise<Result> {
  const { deps, caller, origin } = request;
  const { principal, role, context } = caller;
  const { runs } = deps;
  const run =
    left ??
    (await runs.start(principal, {
      ...query,
      ...origin,
      ...present({ trace: traceOfCall(ctx), role }),
      ...(context && { context }),
    }));
  noteRun(request.facts, run);
  using _reader = runs.attach(run, { cancelWhenGone: false });
  using open = new DisposableStack();
  open.use(cancelWhenGone(request, run));
  let question: OpenQuestion | undefined;
  const leave = async (result: Result): Promise<Result> => {
    const asked = isInputRequiredResult(result) ? askedAs(repeated!, run.runId) : repeated!.name;
    await runs.leave(run, asked);
    return result;
  };
  for (;;) {
    const answer = await following(request, run, ctx, question);
    if (!answer) {
      if (repeated) await runs.leave(run, repeated.name);
      throw handedOver(run);
    }
    const [asked] = answer.approvals ?? [];
    if (!asked) return answered(answer);
    // The client cannot return to the run: a query that it repeats begins another one.
    if (!repeated) return continuing(request, asked, answer);
    // The client's user was asked, and has dismissed the question or did not decide in time.
    if (question) return await leave(elsewhere(request, asked));
    const confirmed = await confirm(request, { asked, run, inputSchema: repeated.inputSchema }, ctx);
    if (confirmed.result) return await leave(confirmed.result);
    question = confirmed.question && open.use(confirmed.question);
  }
}

/** A question is answered by a call that names its run: an equal call at the same time is another one. */
const askedAs = ({ name }: Repeated, runId: unknown): string => hashJson([name, runId]);

/** The run of an equal call whose outcome its client did not get: that of the question it answers, else one that is decided elsewhere. */
async function takeLeft(
  { deps: { runs }, caller: { principal } }: McpRequest,
  repeated: Repeated,
  ctx: ServerContext,
): Promise<RunHandle | undefined> {
  // Compared instead of signed: it gives no right, and names a run of this caller and this call only.
  const state = ctx.mcpReq.requestState?.();
  if (state === undefined) return await runs.takeLeft(principal, repeated.name);
  // The client's user was asked for arguments, so that the call has no run yet.
  if (givenIn(ctx)) return undefined;
  const asked = await runs.takeLeft(principal, askedAs(repeated, state));
  if (asked) return asked;
  throw unknownState();
}

/** The client's span of the call, which `_meta` names. It is nearer than the span of the HTTP request, where both are named. */
const traceOfCall = ({ mcpReq: { _meta } }: ServerContext): TraceContext | undefined =>
  traceOfHeaders((name) => {
    const value = _meta?.[name];
    return typeof value === "string" ? value : undefined;
  });

/** Cancels the run at the end of the client's connection: it cannot resume the request. */
function cancelWhenGone({ deps, gone, caller: { principal } }: McpRequest, { runId }: RunHandle): Disposable {
  const cancel = () =>
    void deps
      .within(principal.orgId, () => deps.runs.cancel(principal, runId))
      .catch((cause: unknown) => deps.log.warn("a run could not be cancelled", { runId, cause }));
  if (gone.aborted) cancel();
  else gone.addEventListener("abort", cancel, { once: true });
  return { [Symbol.dispose]: () => gone.removeEventListener("abort", cancel) };
}

/**
 * The end of the run or the approvals that it waits for: at once, or once the open question was dismissed or not answered in time.
 * Reports progress meanwhile to a client that asked for it. Undefined when the process drains first. Throws when the caller's access
 * has ended; the run continues.
 */
async function following(
  { deps, gone, revoked }: McpRequest,
  run: RunHandle,
  ctx: ServerContext,
  question: OpenQuestion | undefined,
): Promise<QueryResponse | undefined> {
  const { runs } = deps;
  const over = AbortSignal.any([gone, revoked]);
  const { _meta, notify } = ctx.mcpReq;
  const progressToken = _meta?.progressToken;
  const ended = new AbortController();
  const reports =
    progressToken !== undefined &&
    reportProgress(
      runs,
      run,
      (report) => notify({ method: "notifications/progress", params: { progressToken, ...report } }),
      { signal: AbortSignal.any([ended.signal, over]) },
    ).catch((cause: unknown) => deps.log.warn("progress could not be reported", { runId: run.runId, cause }));
  try {
    const replied =
      question && (await runs.result(run, { signal: AbortSignal.any([over, question.dismissed]), waitMs: REPLY_MS }));
    // Nothing if the question was dismissed after a decision elsewhere: the run continues.
    const answer = replied ?? (await runs.result(run, { signal: over }));
    revoked.throwIfAborted();
    // The log of a run that has ended ends too: what it still holds of progress comes before the result.
    if (answer && !answer.approvals) await reports;
    return answer;
  } finally {
    ended.abort();
    await reports;
  }
}

const handedOver = ({ runId }: RunHandle): ServiceError =>
  new ServiceError(
    "unavailable",
    `This replica is stopping and the call continues on another one. See its outcome in run ${runId} before you repeat it.`,
  );

/** For a run whose outcome the client cannot get by a second call. */
function continuing(request: McpRequest, asked: Asked, answer: QueryResponse): CallToolResult {
  const { runId, threadId } = answer;
  const then = `Once it is decided, run ${runId} continues, and its outcome is in the console. Do not call again: that would begin another run.`;
  const result = elsewhere(request, asked, then);
  return { ...result, _meta: { ...result._meta, ...metaOf(answer), "patchbay/threadId": threadId } };
}

/** Without `structuredContent`: clients would compare it with the schema of results. */
function failed(answer: QueryResponse, message: string, code: string | undefined): CallToolResult {
  const text = code === "outcome_unknown" ? `${message} The call may have taken effect: do not repeat it.` : message;
  return { content: [{ type: "text", text }], isError: true, _meta: { ...metaOf(answer), "patchbay/code": code } };
}

const metaOf = ({ runId }: QueryResponse) => ({ "patchbay/runId": runId });
