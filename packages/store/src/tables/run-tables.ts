import type { ErrorReport } from "@patchbay/protocol";
import type { JsonValue } from "@patchbay/kit";
import type { Generated } from "kysely";
import type { FactsRow } from "./runs.ts";
import type { RunView } from "@patchbay/engine/ports/store/run-views";
import type { Json } from "../columns.ts";
import { flag, json, recordColumns, type RowOf, text } from "./table.ts";

/** Run tables outside the logs. */
export interface RunTables {
  /** Calls with or waiting for a permit (`granted` 1 or 0). The row without a `call_id` is the lock for the others. */
  permits: {
    agent_id: string;
    function_name: string;
    call_id: string;
    start: number;
    org_id: string;
    granted: number;
    queued_at: number;
    expires_at: number;
  };
  reruns: { run_id: string; origin_id: string; org_id: string };
  /** The newest feedback from each key or member. `score`: from -1 to 1. */
  feedback: {
    run_id: string;
    key_id: string;
    org_id: string;
    score: number | null;
    tags: Json<string[]> | null;
    comment: Json<string> | null;
    created_at: number;
  };
  run_facts: FactsRow & { id: Generated<number> };
  /** Words by which runs are found; `id` is that of the facts. Text on SQLite, a `tsvector` on Postgres. */
  run_texts: { id: number; org_id: string; words: string };
  run_views: RowOf<RunView, typeof VIEW> & { created_at: number };
  /** Console API requests by their Idempotency-Key, valid for 24 h. `answer` is null until the request has ended. */
  request_keys: {
    org_id: string;
    actor_id: string;
    key: string;
    body_hash: string;
    answer: Json<JsonValue> | null;
    created_at: number;
  };
  /** The candidate that an agent's ended calls are compared with, and its connection's lease. */
  shadows: {
    agent_id: string;
    org_id: string;
    service: string;
    manifest_hash: string;
    connection_id: string;
    lease_until: number;
    since: number;
    /** The last call that was compared. */
    position_at: number;
    position_id: string;
    judged: number;
    dropped: number;
    unanswered: number;
  };
  /** Calls on which the candidate decides differently. `role` is JSON: null for queries without one. */
  shadow_changes: {
    agent_id: string;
    function_name: string;
    role: Json<string | null>;
    was: string;
    decision: string;
    org_id: string;
    calls: number;
    examples: Json<string[]>;
    last_at: number;
  };
  /** What the owner's code threw, for developers and owners only. */
  call_errors: { run_id: string; call_id: string; org_id: string; body: Json<ErrorReport> };
}

const VIEW = {
  viewId: text("id"),
  orgId: text("org_id"),
  agentId: text("agent_id"),
  memberId: text("member_id"),
  name: text("name"),
  shared: flag("shared"),
  search: json("search"),
};
export const viewColumns = recordColumns<RunView>()(VIEW);
