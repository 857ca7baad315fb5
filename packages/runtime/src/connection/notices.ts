import { wallMs } from "@patchbay/kit/time";
import { APPROVAL_REQUIRED, approvalIdOf, type CallOutcome } from "@patchbay/protocol";
import { type JsonObject, type JsonValue } from "@patchbay/kit";
import type { Invocation } from "../invocation.ts";
import type { Service } from "../service.ts";

/** A call that waits for a person's approval, for owners who notify approvers from their own network. */
export interface ApprovalNotice {
  /** Names the request in the query API, the console and the `patchbay` command. */
  readonly approvalId: string;
  /** The function that the model called. */
  readonly functionName: string;
  /** The arguments that the model wrote. */
  readonly arguments: JsonValue;
  /** What `when` gave as the reason. */
  readonly reason: string | undefined;
  /** The roles that may decide. `"caller"`: the query's role. */
  readonly by: readonly string[];
  /** The query's role, or the service's default role. */
  readonly role: string | undefined;
  /** The object in the query's `contextJson`. */
  readonly context: JsonObject;
  /** The run that waits for the decision. */
  readonly runId: string;
  /** The query's conversation. */
  readonly threadId: string;
  /** When the request expires, by this process's clock. */
  readonly expiresAt: Date;
}

/** Approval requests that the control plane has not stored yet, as far as this runtime knows. */
export function createNotices(notify: ((notice: ApprovalNotice) => void) | undefined) {
  const open = new Map<string, ApprovalNotice>();
  return {
    /** Keeps the notice for an outcome that asks for an approval. Ignores any other outcome. */
    add(service: Service, call: Invocation, outcome: CallOutcome): void {
      const notice = notify && noticeOf(service, call, outcome);
      if (notice) open.set(call.callId, notice);
    },
    /** The control plane has stored the request: notifies the owner, once. */
    send(callId: string): void {
      const notice = open.get(callId);
      open.delete(callId);
      if (notice) notify?.(notice);
    },
    /** The run has ended before its request was stored. */
    drop: (callId: string): void => void open.delete(callId),
  };
}

function noticeOf({ manifest }: Service, call: Invocation, outcome: CallOutcome): ApprovalNotice | undefined {
  if (outcome.ok || outcome.code !== "approval_required") return undefined;
  const { functionName, callId, role, context, runId, threadId } = call;
  const rule = manifest.functions.find(({ name }) => name === functionName)?.approval;
  if (rule === undefined) return undefined;
  return {
    approvalId: approvalIdOf(callId),
    functionName,
    arguments: call.arguments,
    reason: outcome.message === APPROVAL_REQUIRED ? undefined : outcome.message,
    by: rule.by,
    role,
    context,
    runId,
    threadId,
    expiresAt: new Date(wallMs() + rule.expiresInMs),
  };
}
