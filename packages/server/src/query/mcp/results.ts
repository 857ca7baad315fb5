import { type CallToolResult, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { QueryResponse } from "@patchbay/protocol";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import type { RunHandle } from "@patchbay/engine/run/api";

export type Asked = NonNullable<QueryResponse["approvals"]>[number];

export const metaOf = ({ runId }: QueryResponse) => ({ "patchbay/runId": runId });

/** Without `structuredContent`: clients would compare it with the result schema. */
export function failed(answer: QueryResponse, message: string, code: string | undefined): CallToolResult {
  const text = code === "outcome_unknown" ? `${message} The call may have taken effect: do not repeat it.` : message;
  return { content: [{ type: "text", text }], isError: true, _meta: { ...metaOf(answer), "patchbay/code": code } };
}

const CALL_AGAIN = "Once it is decided, call again with the same arguments to get the result.";

/** Where the approval is decided. `urlOf`: the address of its console page. */
export function elsewhere(
  urlOf: (approvalId: string) => string,
  { approvalId, expiresAt }: Asked,
  then = CALL_AGAIN,
): CallToolResult {
  const text = `This call needs an approval: ${urlOf(approvalId)} (until ${expiresAt}). ${then}`;
  return {
    content: [{ type: "text", text }],
    isError: true,
    _meta: { "patchbay/code": "approval_required", "patchbay/approvalId": approvalId },
  };
}

/** The same for a run whose outcome a second call cannot return. */
export function continuing(urlOf: (approvalId: string) => string, asked: Asked, answer: QueryResponse): CallToolResult {
  const { runId, threadId } = answer;
  const then = `Once it is decided, run ${runId} continues, and its outcome is in the console. Do not call again: that would begin another run.`;
  const result = elsewhere(urlOf, asked, then);
  return { ...result, _meta: { ...result._meta, ...metaOf(answer), "patchbay/threadId": threadId } };
}

export const unknownTool = (tool: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${tool}`);

export const unknownState = (): ProtocolError =>
  new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    "requestState: is not that of an open question of this call. Make the call without it.",
  );

export const handedOver = ({ runId }: Pick<RunHandle, "runId">): ServiceError =>
  new ServiceError(
    "unavailable",
    `This replica is stopping and the call continues on another one. See its outcome in run ${runId} before you repeat it.`,
  );
