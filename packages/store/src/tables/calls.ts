import type { CallOutcome } from "@patchbay/protocol";
import type { Generated, Selectable } from "kysely";
import type { CallRecord } from "@patchbay/engine/ports/records";
import { refusalOf } from "@patchbay/engine/ports/refusal";
import type { Json } from "../columns.ts";
import { bigint, integer, json, recordColumns, type RowOf, text } from "./table.ts";

/** The members that the row of a call has: its approval is a row of its own. */
type StoredCall = Omit<CallRecord, "approval" | "valueBytes">;

const CALL = {
  callId: text("id"),
  step: integer("step"),
  position: integer("position"),
  modelCallId: text("model_call_id"),
  functionName: text("function_name"),
  arguments: json("arguments"),
  instanceId: text("instance_id"),
  attempt: integer("attempt"),
  sentAt: bigint("sent_at"),
  earlier: json("attempts"),
  outcome: json("outcome"),
  runsUntil: bigint("runs_until"),
  progress: json("progress"),
};

/** One function call of a run. `sent_at` of an attempt is known from its answer, so null until then. */
export interface CallTable extends RowOf<StoredCall, typeof CALL> {
  run_id: string;
  org_id: string;
  agent_id: string | null;
  role: string | null;
  /** The replica that accepted this attempt and sends it. */
  accepted_by: string | null;
  /**
   * The runtime's result, until the run's owner stores it as the outcome. `provisional`: the attempt that a provisional outcome ends.
   */
  arrived: Json<CallOutcome & { provisional?: number }> | null;
  /**
   * Null without an outcome. `waiting`: asked for an approval. `denied`: refused by a role list, `authorize` or
   * validation. `failed`: any other error.
   */
  state: "succeeded" | "failed" | "denied" | "waiting" | null;
  /** 1 when the audit log has an entry about a result that arrived after the call was given up. */
  late: Generated<number>;
  /** Milliseconds that the call has waited for a person; null for none. */
  waited_ms: Generated<number | null>;
  created_at: number;
  finished_at: number | null;
}

/** A `calls` row. */
export type CallRow = Selectable<CallTable>;

/** Without `arrived`, which may be as large as `outcome`. */
export const callColumns = recordColumns<StoredCall>()(CALL);

/** A call's columns, except those from its run. */
export const callRowOf = (call: CallRecord) => ({
  ...callColumns.rowOf(call),
  state: call.outcome ? stateOf(call.outcome) : call.approval ? ("waiting" as const) : null,
});

/** The outcome in one word, for list and figure indexes. */
function stateOf(outcome: CallOutcome): "succeeded" | "failed" | "denied" {
  if (outcome.ok) return "succeeded";
  return refusalOf(outcome) === undefined ? "failed" : "denied";
}
