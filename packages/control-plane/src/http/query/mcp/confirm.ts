import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ElicitRequestFormParams,
  inputRequired,
  type InputRequiredResult,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { CALLER, isJsonObject, type JsonObject, present, type QueryResponse } from "@patchbay/protocol";
import type { RunHandle } from "../../../run/api.ts";
import { codeOf } from "../../kernel/errors.ts";
import type { Origin, RequestFacts } from "../../kernel/exchange.ts";
import type { DoorCaller } from "../caller.ts";
import type { HttpDeps } from "../deps.ts";
import { elicits, openQuestion, type OpenQuestion } from "./elicitation.ts";
import { type Fields, fieldsOf, filledIn } from "./form.ts";

/** What the handlers of one request know. */
export interface McpRequest {
  deps: Pick<HttpDeps, "runs" | "approvals" | "bus" | "within" | "log">;
  caller: DoorCaller;
  /** The HTTP request. */
  origin: Origin;
  facts: RequestFacts;
  /** Aborted when the client disconnects. */
  gone: AbortSignal;
  /** Aborted when the key or the client token of the request ends. */
  revoked: AbortSignal;
  /** Address of the console's page of an approval. */
  approvalUrl(approvalId: string): string;
  /** Sends a question on the stream of the call. Its reply is a request of its own. Only for clients of 2025 that can put it. */
  ask?: (id: string, question: ElicitRequestFormParams) => Promise<void>;
}

export type Result = CallToolResult | InputRequiredResult;
export type Asked = NonNullable<QueryResponse["approvals"]>[number];

/**
 * How long the client's user has for a question on the stream of the call. Clients wait 60 s for a call by default, and a call that
 * has ended names the console's page instead of failing.
 */
export const REPLY_MS = 50_000;

/**
 * Has the user of the client decide the approval, if the caller may confirm its own calls and the client can put the question. Returns
 * what the client gets: the question, or where the approval is decided. Returns the question that it sent on the stream, and nothing
 * if the client came with the decision.
 */
export async function confirm(
  request: McpRequest,
  { asked, run, inputSchema }: { asked: Asked; run: Pick<RunHandle, "runId">; inputSchema: JsonObject },
  ctx: ServerContext,
): Promise<{ result?: Result; question?: OpenQuestion }> {
  const { approvalId, parameters } = asked;
  const { deps, caller, ask } = request;
  if (!asksUser(request, ctx) || !mayConfirm(request, asked)) return { result: elsewhere(request, asked) };
  const { edit } = await deps.approvals.get(caller.principal, approvalId);
  const fields = fieldsOf(inputSchema, parameters, edit);
  if (ask) {
    using opening = new DisposableStack();
    const question = opening.use(openQuestion(request, (reply) => decided(request, asked, fields, reply)));
    await ask(question.id, questionOf(asked, fields));
    opening.move();
    return { question };
  }
  // Without a state the client was not asked about this approval.
  const reply = ctx.mcpReq.requestState() === undefined ? undefined : ctx.mcpReq.inputResponses?.[approvalId];
  if (!isJsonObject(reply) || !ACTIONS.has(reply["action"])) {
    const inputRequests = { [approvalId]: inputRequired.elicit(questionOf(asked, fields)) };
    return { result: inputRequired({ requestState: run.runId, inputRequests }) };
  }
  return (await decided(request, asked, fields, reply)) ? {} : { result: elsewhere(request, asked) };
}

/** True if the client can put a question to its user. */
export function asksUser({ ask }: McpRequest, { mcpReq }: ServerContext): boolean {
  const declared = mcpReq.envelope as Record<string, unknown> | undefined;
  return ask !== undefined || elicits(declared?.[CLIENT_CAPABILITIES_META_KEY]);
}

const ACTIONS: ReadonlySet<unknown> = new Set(["accept", "decline", "cancel"]);

function mayConfirm({ deps: { approvals }, caller: { principal, role } }: McpRequest, { by }: Asked): boolean {
  if (!by.includes(CALLER) || role === undefined) return false;
  try {
    approvals.requireRight(principal);
    return true;
  } catch {
    return false;
  }
}

const questionOf = ({ toolName, parameters, reason }: Asked, fields: Fields): ElicitRequestFormParams => ({
  message: `Allow ${toolName}(${JSON.stringify(parameters)})?${reason === undefined ? "" : ` ${reason}`}`,
  requestedSchema: { type: "object", properties: fields },
});

/** Decides the approval as the client's user did. False if the user did not decide, or may not. */
async function decided(
  { deps: { approvals }, caller: { principal, role } }: McpRequest,
  { approvalId, parameters }: Asked,
  fields: Fields,
  reply: unknown,
): Promise<boolean> {
  const { action, content } = isJsonObject(reply) ? reply : {};
  if (action !== "accept" && action !== "decline") return false;
  const approved = action === "accept";
  const changed = approved ? filledIn(fields, parameters, content) : undefined;
  try {
    await approvals.decide(principal, approvalId, { approved, ...present({ as: role, arguments: changed }) });
  } catch (thrown) {
    // With `fourEyes` the sender of a call may not decide on it.
    if (codeOf(thrown) === "role_not_allowed") return false;
    // Decided elsewhere meanwhile: the run continues with that decision.
    if (codeOf(thrown) !== "conflict") throw thrown;
  }
  return true;
}

const CALL_AGAIN = "Once it is decided, call again with the same arguments to get the result.";

/** Says where the approval is decided. */
export function elsewhere({ approvalUrl }: McpRequest, { approvalId, expiresAt }: Asked, then = CALL_AGAIN) {
  const text = `This call needs an approval: ${approvalUrl(approvalId)} (until ${expiresAt}). ${then}`;
  return {
    content: [{ type: "text", text }],
    isError: true,
    _meta: { "patchbay/code": "approval_required", "patchbay/approvalId": approvalId },
  } satisfies CallToolResult;
}
