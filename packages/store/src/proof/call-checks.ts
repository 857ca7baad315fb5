import { type FunctionManifest, rolesAllow } from "@patchbay/protocol";
import { argumentsHash } from "@patchbay/protocol/arguments-hash";
import { startedBefore } from "@patchbay/engine/ports/records";
import { fromJson, type Json } from "../columns.ts";
import type { ApprovalRow } from "../tables/approvals.ts";
import { callColumns, type CallRow } from "../tables/calls.ts";
import type { RunRow } from "../tables/runs.ts";

/** Two values that are equal unless rows violate an invariant. */
export type Compared = [invariant: string, expected: Value, found: Value];
export type Value = string | number | boolean | null | undefined;

export interface CallEvidence {
  run: Pick<RunRow, "role" | "kind" | "created_at" | "finished_at">;
  log: readonly { body: Json<Record<string, unknown>> }[];
  calls: readonly CallRow[];
  approvals: readonly ApprovalRow[];
  /** The run's functions; undefined for a deleted function set. */
  functions: readonly FunctionManifest[] | undefined;
}

/** Compares a run's calls and approvals with its log, and with what its function set permits. */
export function* compareCalls({ run, log, calls, approvals, functions }: CallEvidence): Generator<Compared> {
  const events = log.map(({ body }) => fromJson(body));
  const logged = (type: string, id: string) =>
    events.filter((one) => one["type"] === type && (one["approvalId"] ?? one["toolCallId"]) === id);
  for (const row of calls) {
    const { callId: id, functionName: name, outcome, earlier = [], instanceId } = callColumns.recordOf(row);
    const results = logged("toolResult", id);
    yield [`toolCall events of ${id}`, 1, logged("toolCall", id).length];
    yield [`toolResult events of ${id}`, outcome ? 1 : 0, results.length];
    const { success, result, code, errorMessage } = results[0] ?? {};
    const stored = outcome?.ok ? [true, outcome.value] : [false, outcome?.code, outcome?.message];
    const isSame = JSON.stringify(success ? [true, result] : [false, code, errorMessage]) === JSON.stringify(stored);
    yield [`toolResult of ${id} is its outcome`, true, isSame || !outcome || results.length === 0];

    const approval = approvals.find(({ call_id }) => call_id === id);
    const ran = outcome?.ok === true || earlier.some(({ ended }) => ended === "approval");
    if (ran && approval) yield [`approval of ${name} (${id})`, "approved", approval.status];
    // A retry also has the open calls of the run before, which were made with another function set.
    if (!functions || row.created_at < run.created_at) continue;
    const declared = functions.find((one) => one.name === name);
    const mayCall = declared && run.kind !== "task" && rolesAllow(declared.roles, run.role ?? undefined);
    yield [`${name} (${id}) is permitted`, true, mayCall === true || instanceId === undefined];
    const starts = startedBefore({ earlier }).length + 1;
    yield [`starts of ${name} (${id})`, declared ? Math.min(starts, mostStarts(declared)) : starts, starts];
    if (ran && declared?.approval?.conditional === false) yield [`approvals of ${name} (${id})`, 1, approval ? 1 : 0];
  }
  for (const { id, call_id, status, reported, arguments_hash } of approvals) {
    const decisions = logged("approvalDecision", id).map(({ decision }) => decision);
    const call = calls.find((one) => one.id === call_id);
    yield [`approvalRequest events of ${id}`, 1, logged("approvalRequest", id).length];
    yield [
      `decisions of ${id}`,
      run.finished_at !== null || reported === 1 ? status : "none",
      decisions.join() || "none",
    ];
    yield [`arguments hash of ${call_id}`, arguments_hash, call && argumentsHash(fromJson(call.arguments))];
  }
}

/** Written apart from the rule by which the engine begins attempts. */
function mostStarts({ effect, idempotent, reconciles, retries, detached }: FunctionManifest): number {
  return idempotent || reconciles || (effect === "read" && retries) ? (retries?.max ?? (detached ? 2 : 3)) : 1;
}
