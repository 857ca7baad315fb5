import type { ErrorReport, RunStatus } from "@patchbay/protocol";
import type { RunSource } from "@patchbay/protocol/console";
import type { Generated } from "kysely";
import type { Json } from "./columns.ts";

/** Tables with what is known of runs outside of their logs. */
export interface RunTables {
  /** Calls that have or wait for a permit (`granted` 1 or 0). The row without a `call_id` is locked for changes of the others. */
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
  /** The newest feedback of each key or member. `score`: from -1 to 1. */
  feedback: {
    run_id: string;
    key_id: string;
    org_id: string;
    score: number | null;
    tags: Json<string[]> | null;
    comment: Json<string> | null;
    created_at: number;
  };
  /** Ended runs as lists filter, sort and add them up; written after their end. A run that did not end has no row. */
  run_facts: {
    id: Generated<number>;
    run_id: string;
    org_id: string;
    agent_id: string;
    thread_id: string;
    session_id: string | null;
    key_id: string;
    request_id: string | null;
    role: string | null;
    source: RunSource;
    status: RunStatus;
    code: string | null;
    model: string;
    /** Names of called functions, each between spaces. */
    functions: string;
    created_at: number;
    duration_ms: number;
    input_tokens: number;
    output_tokens: number;
    cost_micros: number;
    calls: number;
    failed_calls: number;
    denied_calls: number;
  };
  /** Words by which runs are found, by the number of their facts. A text of SQLite, a `tsvector` of Postgres. */
  run_texts: { id: number; org_id: string; words: string };
  run_views: {
    id: string;
    org_id: string;
    agent_id: string;
    member_id: string;
    name: string;
    shared: number;
    search: Json<Record<string, string>>;
    created_at: number;
  };
  /** The candidate that an agent's ended calls are compared with, and the lease of the connection that is asked. */
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
  /** What the owner's code threw, for members only. */
  call_errors: { run_id: string; call_id: string; org_id: string; body: Json<ErrorReport> };
}
