import {
  type CallToolResult,
  type ClientCapabilities,
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { CALLER, type FunctionManifest, isJsonObject, type JsonObject, type QueryResponse } from "@patchbay/protocol";
import { ServiceError } from "../../../ports/service-error.ts";
import { directCall, type Query, type RunHandle } from "../../../run/api.ts";
import { hashJson } from "../../kernel/body.ts";
import { codeOf } from "../../kernel/errors.ts";
import type { DoorCaller } from "../caller.ts";
import type { HttpDeps } from "../deps.ts";
import { reportProgress } from "./progress.ts";

/** What the handlers of one request know. */
export interface McpRequest {
  deps: Pick<HttpDeps, "runs" | "approvals" | "within" | "log">;
  caller: DoorCaller;
  requestId: string;
  /** Aborted when the client disconnects. */
  gone: AbortSignal;
  /** Address of the console's page of an approval. */
  approvalUrl(approvalId: string): string;
}

type Result = CallToolResult | InputRequiredResult;

/** One call of a function in a run of its own. `fn` is undefined if it does not exist for the role. */
export async function callFunction(
  request: McpRequest,
  { tool, input, fn }: { tool: string; input: JsonObject; fn: FunctionManifest | undefined },
  ctx: ServerContext,
): Promise<Result> {
  const query = directCall(fn?.name ?? tool, input);
  // A call that waits for a person is made again by its client, which then gets the result of the first one.
  const key = fn?.approval && `mcp\n${hashJson([...identityOf(request.caller), query.testCall])}`;
  return await inRun(request, { query, ...(key !== undefined && { key }) }, ctx, (answer) => {
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

/** What distinguishes the callers of one key: a call joins only a run of the same caller. */
const identityOf = ({ role, context, principal: { proven } }: DoorCaller) => [
  role,
  context,
  proven?.subject,
  proven?.context,
];

/** A whole query in a thread of its own. */
export async function askAgent(request: McpRequest, query: string, ctx: ServerContext): Promise<Result> {
  return await inRun(request, { query: { query, analysisMode: false } }, ctx, (answer) => {
    const _meta = { ...metaOf(answer), "patchbay/threadId": answer.threadId };
    if (!answer.success) return { ...failed(answer, answer.errorMessage, answer.code), _meta };
    return { content: [{ type: "text", text: answer.response }], _meta };
  });
}

export const unknownTool = (tool: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${tool}`);

/** Begins the run, or joins the one that an equal call left waiting, and answers with its end or with what it waits for. */
async function inRun(
  request: McpRequest,
  { query, key }: { query: Query; key?: string },
  ctx: ServerContext,
  answered: (answer: QueryResponse) => CallToolResult,
): Promise<Result> {
  const { deps, caller, requestId, gone } = request;
  const { principal, role, context } = caller;
  const { runs } = deps;
  const idempotency = key === undefined ? undefined : { key, bodyHash: hashJson(query.testCall) };
  const joined = idempotency && (await leftWaiting(request, idempotency));
  const run =
    joined ??
    (await runs.start(principal, {
      ...query,
      requestId,
      ...(role !== undefined && { role }),
      ...(context && { context }),
      ...(idempotency && { idempotency }),
    }));
  using _reader = runs.attach(run, { cancelWhenGone: false });
  // The client cannot resume the request, so that its end is that of the run. A run that was waiting before continues.
  if (!joined) cancelOn(gone, request, run);
  for (;;) {
    const answer = await following(request, run, ctx);
    const [asked] = answer.approvals ?? [];
    if (!asked) {
      if (key !== undefined) await runs.forget(principal, key);
      return answered(answer);
    }
    // Without a key the client cannot return to the run: a query that it repeats begins another one.
    const waits = key === undefined ? continuing(request, asked, answer) : await approved(request, asked, ctx);
    if (waits) return waits;
  }
}

/** The run of an equal call whose outcome its client did not get. A run that was cancelled is not joined. */
async function leftWaiting(
  { deps: { runs }, caller: { principal } }: McpRequest,
  { key, bodyHash }: { key: string; bodyHash: string },
): Promise<RunHandle | undefined> {
  const run = await runs.join(principal, key, bodyHash);
  const found = run && (await runs.find(principal, run.runId));
  if (found?.status !== "cancelled") return run;
  await runs.forget(principal, key);
  return undefined;
}

function cancelOn(gone: AbortSignal, { deps, caller: { principal } }: McpRequest, { runId }: RunHandle): void {
  const cancel = () =>
    deps
      .within(principal.orgId, () => deps.runs.cancel(principal, runId))
      .catch((cause: unknown) => deps.log.warn("a run could not be cancelled", { runId, cause }));
  if (gone.aborted) void cancel();
  else gone.addEventListener("abort", () => void cancel(), { once: true });
}

/** The end of the run or the approvals that it waits for. Reports progress meanwhile to a client that asked for it. */
async function following({ deps, gone }: McpRequest, run: RunHandle, ctx: ServerContext): Promise<QueryResponse> {
  const { runs } = deps;
  const { _meta, notify } = ctx.mcpReq;
  const progressToken = _meta?.progressToken;
  const ended = new AbortController();
  const reports =
    progressToken !== undefined &&
    reportProgress(
      runs,
      run,
      (report) => notify({ method: "notifications/progress", params: { progressToken, ...report } }),
      { signal: AbortSignal.any([ended.signal, gone]) },
    ).catch((cause: unknown) => deps.log.warn("progress could not be reported", { runId: run.runId, cause }));
  try {
    const answer = await runs.result(run, { signal: gone });
    if (!answer) throw handedOver(run);
    // The log of a run that has ended ends too: what it still holds of progress comes before the result.
    if (!answer.approvals) await reports;
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

type Asked = NonNullable<QueryResponse["approvals"]>[number];

/**
 * Decides the approval as the client's user answered, and returns undefined. Returns a question for the user of a caller that may
 * confirm its own calls, if the client can put one, and else says where the approval is decided.
 */
async function approved(request: McpRequest, asked: Asked, ctx: ServerContext): Promise<Result | undefined> {
  const { deps, caller } = request;
  const { principal, role } = caller;
  const { approvalId, toolName, by, reason } = asked;
  const confirms = by.includes(CALLER) && role !== undefined && mayDecide(request) && elicits(ctx);
  if (!confirms) return elsewhere(request, asked);
  // The approval that the client's user was asked about. Compared instead of signed: it gives no rights.
  const state = ctx.mcpReq.requestState();
  if (state !== undefined && state !== approvalId)
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      "requestState: is not that of the approval that this call waits for. Make the call without it.",
    );
  const reply = ctx.mcpReq.inputResponses?.[approvalId];
  const action = isJsonObject(reply) ? reply["action"] : undefined;
  if (action === "cancel") return elsewhere(request, asked);
  if (action !== "accept" && action !== "decline")
    return inputRequired({
      requestState: approvalId,
      inputRequests: {
        [approvalId]: inputRequired.elicit({
          message: `Allow ${toolName}(${JSON.stringify(asked.parameters)})?${reason === undefined ? "" : ` ${reason}`}`,
          requestedSchema: { type: "object", properties: {} },
        }),
      },
    });
  try {
    await deps.approvals.decide(principal, approvalId, { approved: action === "accept", as: role });
  } catch (thrown) {
    // With `fourEyes` the sender of a call may not decide on it.
    if (codeOf(thrown) === "role_not_allowed") return elsewhere(request, asked);
    // Decided elsewhere meanwhile: the run continues with that decision.
    if (codeOf(thrown) !== "conflict") throw thrown;
  }
  return undefined;
}

function mayDecide({ deps, caller: { principal } }: McpRequest): boolean {
  try {
    deps.approvals.requireRight(principal);
    return true;
  } catch {
    return false;
  }
}

/** True for a client of the revision 2026-07-28 that can put a form to its user. */
function elicits({ mcpReq }: ServerContext): boolean {
  const declared = mcpReq.envelope as Record<string, ClientCapabilities | undefined> | undefined;
  const { elicitation } = declared?.[CLIENT_CAPABILITIES_META_KEY] ?? {};
  // Clients that name neither mode can put a form.
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

const CALL_AGAIN = "Once it is decided, call again with the same arguments to get the result.";

function elsewhere({ approvalUrl }: McpRequest, { approvalId, expiresAt }: Asked, then = CALL_AGAIN) {
  const text = `This call needs an approval: ${approvalUrl(approvalId)} (until ${expiresAt}). ${then}`;
  return {
    content: [{ type: "text", text }],
    isError: true,
    _meta: { "patchbay/code": "approval_required", "patchbay/approvalId": approvalId },
  } satisfies CallToolResult;
}

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
