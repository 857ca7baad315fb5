import { timeoutSignal } from "@patchbay/kit/time";
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ElicitRequestFormParams,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { CALLER } from "@patchbay/protocol";
import { isJsonObject, type JsonObject, type JsonValue, parseJson, present } from "@patchbay/kit";
import { codeOf } from "../../kernel/errors.ts";
import type { Origin, RequestFacts } from "../../kernel/exchange.ts";
import type { AdapterCaller } from "../caller.ts";
import type { HttpDeps } from "../deps.ts";
import { elicits, openQuestion } from "./elicitation.ts";
import { type Fields, filledIn } from "./form.ts";
import type { Asked } from "./results.ts";

/** What one request's handlers share. */
export interface McpRequest {
  deps: Pick<HttpDeps, "runs" | "approvals" | "bus" | "within" | "log">;
  caller: AdapterCaller;
  /** The HTTP request. */
  origin: Origin;
  facts: RequestFacts;
  /** Aborted when the client disconnects. */
  gone: AbortSignal;
  /** Aborted when the request's key or client token ends. */
  revoked: AbortSignal;
  /** Address of an approval's console page. */
  approvalUrl(approvalId: string): string;
  /**
   * Sends a question on the call's stream; the reply arrives as another request. Only for clients of the 2025 revisions
   * that can show it.
   */
  ask?: (id: string, question: ElicitRequestFormParams) => Promise<void>;
}

/** True if the client can show its user a question. */
export function asksUser({ ask }: McpRequest, { mcpReq }: ServerContext): boolean {
  const declared = mcpReq.envelope as Record<string, unknown> | undefined;
  return ask !== undefined || elicits(declared?.[CLIENT_CAPABILITIES_META_KEY]);
}

/**
 * How long the client's user has for a question on the call's stream. By default clients wait 60 s for a call: ending
 * it earlier names the console page instead of failing.
 */
export const REPLY_MS = 50_000;

/** Sends the question on the call's stream. Undefined if the client's user does not answer in time. */
export async function replyTo(request: McpRequest, params: ElicitRequestFormParams): Promise<JsonValue | undefined> {
  const { promise, resolve } = Promise.withResolvers<JsonValue | undefined>();
  const over = AbortSignal.any([request.gone, request.revoked, timeoutSignal(REPLY_MS)]);
  over.addEventListener("abort", () => resolve(undefined));
  using question = openQuestion(request, async (reply) => {
    resolve(reply);
    return true;
  });
  await request.ask!(question.id, params);
  const reply = await promise;
  request.revoked.throwIfAborted();
  if (request.gone.aborted) throw new ProtocolError(ProtocolErrorCode.InternalError, "The client has disconnected.");
  return reply;
}

const GIVEN = "given:";

/** What the client's user has given so far. Not signed: the client could equally send it as arguments. */
export const stateOf = (given: JsonObject): string =>
  `${GIVEN}${Buffer.from(JSON.stringify(given)).toString("base64url")}`;

/** What the client's user gave before; empty without a state. Undefined for another kind of state. */
export function givenIn({ mcpReq }: ServerContext): JsonObject | undefined {
  const state: unknown = mcpReq.requestState?.();
  if (state === undefined) return {};
  if (typeof state !== "string" || !state.startsWith(GIVEN)) return undefined;
  const parsed = parseJson(Buffer.from(state.slice(GIVEN.length), "base64url").toString());
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
}

export function mayConfirm({ deps: { approvals }, caller: { principal, role } }: McpRequest, { by }: Asked): boolean {
  if (!by.includes(CALLER) || role === undefined) return false;
  try {
    approvals.requireRight(principal);
    return true;
  } catch {
    return false;
  }
}

export const questionOf = ({ toolName, parameters, reason }: Asked, fields: Fields): ElicitRequestFormParams => ({
  message: `Allow ${toolName}(${JSON.stringify(parameters)})?${reason === undefined ? "" : ` ${reason}`}`,
  requestedSchema: { type: "object", properties: fields },
});

/** Decides the approval as the client's user did. False if the user did not decide, or may not. */
export async function decide(
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
    // With `fourEyes` a call's sender may not decide on it.
    if (codeOf(thrown) === "role_not_allowed") return false;
    // Already decided elsewhere: the run continues with that decision.
    if (codeOf(thrown) !== "conflict") throw thrown;
  }
  return true;
}
