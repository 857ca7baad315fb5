import type { Generated } from "kysely";
import type { AccessChanges, AgentSettings, JsonObject, Manifest, ReportedCase, Widening } from "@patchbay/protocol";
import type { Message } from "../ports/model-provider.ts";
import type { ModelRetry } from "../ports/records.ts";
import type { CredentialKind, CredentialRight } from "../ports/stores.ts";
import type { ApprovalRow } from "./approval-row.ts";
import type { Json } from "./columns.ts";
import type { CallTable, RunRow } from "./run-record.ts";
import type { AuditTables } from "./schema-of-audit.ts";
import type { RunTables } from "./schema-of-runs.ts";
import type { WebhookTables } from "./webhook-rows.ts";
import type { ConsoleRole, ServiceScope } from "@patchbay/protocol/console";
import type { LinkKind } from "../ports/members.ts";

/** The tables. Times are milliseconds of the database's clock, flags are 0 or 1, JSON is text, money is micro-USD. */
export interface Schema extends RunTables, AuditTables, WebhookTables {
  orgs: { id: string; name: string; tier: string; created_at: number };
  /** Credit of organisations; none without a row. All runs of an organisation update its row, so no foreign key may point at it. */
  balances: { org_id: string; micros: number };
  agents: {
    id: string;
    org_id: string;
    name: string;
    instructions: string;
    access_changes: Generated<AccessChanges>;
    settings: Generated<Json<AgentSettings>>;
    created_at: number;
    deleted_at: number | null;
    /** Position of the newest function set. */
    last_set_position: Generated<number>;
  };
  credentials: CredentialRow;
  service_tokens: ServiceTokenRow;
  client_tokens: {
    id: string;
    org_id: string;
    key_id: string;
    hash: string;
    role: string;
    context: Json<JsonObject>;
    thread_key: string | null;
    proven: Json<{ subject: string }> | null;
    created_at: number;
    expires_at: number;
  };
  /** Values that `--init-` options have set up; of secrets, hashes. */
  first_start: { name: string; org_id: string; value: string };
  sessions: { agent_id: string; id: string; org_id: string; created_at: number; last_seen_at: number };
  threads: ThreadRow;
  /** The roles that have runs in a thread; '' for runs without a role. A key with a role list lists its threads from here. */
  thread_roles: {
    thread_id: string;
    role: string;
    org_id: string;
    agent_id: string;
    /** Session of the role's newest run that has one. */
    session_id: string | null;
    first_position: number;
    /** 0 while the role has only calls and tasks in the thread. */
    listed: Generated<number>;
    created_at: number;
    updated_at: number;
  };
  /** The ids that clients have given threads. */
  thread_keys: {
    agent_id: string;
    scope: string;
    external_id: string;
    thread_id: string;
    org_id: string;
    created_at: number;
  };
  runs: RunRow;
  /**
   * Valid for 24 h from `created_at`, which is the deadline of a run that waited for an approval. A key is inserted before its run,
   * in the same transaction. `scope`: the lineage of the credential.
   */
  idempotency_keys: {
    agent_id: string;
    scope: string;
    key: string;
    run_id: string;
    body_hash: string;
    created_at: number;
  };
  run_events: { run_id: string; seq: number; org_id: string; body: string; created_at: number };
  turns: {
    run_id: string;
    step: number;
    org_id: string;
    messages: Json<Message[]>;
    warnings: Json<string[]>;
    /** Start of the first model request. `created_at` is the end of the turn. */
    began_at: number | null;
    /** Failed attempts; null when the first attempt succeeded. */
    retries: Json<ModelRetry[]> | null;
  } & Spending;
  calls: CallTable;
  approvals: ApprovalRow;
  manifests: {
    agent_id: string;
    hash: string;
    org_id: string;
    body: Json<Manifest>;
    /** Null if the newest runtime reported none. Read only for members who may make test calls. */
    reported_cases: Json<ReportedCase[]> | null;
    /** Null if the newest runtime reported none. A later version may have written it: it is checked when it is read. */
    access_lock: Json<Readonly<Record<string, unknown>>> | null;
    /** Since when runtimes with this set have reported this lock. */
    lock_since: number | null;
    /** Renewed while runtimes connect with the set. */
    created_at: number;
    first_seen_at: number;
  };
  function_sets: FunctionSetRow;
  runtimes: {
    agent_id: string;
    instance_id: string;
    org_id: string;
    manifest_hash: string;
    service: string;
    /** Null for a runtime that names no deployment. */
    deployment: string | null;
    connected: number;
    /** The newest connection. */
    connection_id: string;
    replica_id: string;
    concurrency: number;
    opened_at: number;
    draining: Generated<number>;
    sdk: string | null;
    /** Null for a runtime of an earlier version. */
    host: string | null;
    first_seen_at: number;
    last_seen_at: number;
  };
  /** Queries of an organisation per minute. */
  /** One row, of the replica that started last. */
  service: { id: number; address: string };
  rate_windows: { org_id: string; window_start: number; count: number };
  usage: {
    run_id: string;
    step: number;
    org_id: string;
    agent_id: string;
    role: string | null;
    provider: string;
    model: string;
    /** Number of turns: above 1 in rows that condense the old usage of a day. */
    turns: number;
    /** Null for condensed rows, and for turns without text. */
    first_token_ms: number | null;
  } & Spending;
  /** The sum of an organisation's entries is always its balance. */
  ledger: {
    id: string;
    org_id: string;
    run_id: string | null;
    step: number | null;
    kind: "grant" | "reserve" | "settle" | "release";
    micros: number;
    created_at: number;
  };
  members: MemberTableRow;
  console_sessions: SessionTableRow;
  sign_in_links: LinkTableRow;
  /** Counts changes of lists that the console shows. Triggers write it. `agent_id` is '' for lists of the organisation. */
  change_counters: { org_id: string; agent_id: string; topic: string; count: number };
}

/** Tokens and cost of one or several turns. */
export interface Spending {
  input_tokens: number;
  cached_input_tokens: number;
  cache_write_input_tokens: number;
  output_tokens: number;
  cost_micros: number;
  created_at: number;
}

/** An API key, a runtime key or an access token. */
export interface CredentialRow {
  id: string;
  kind: CredentialKind;
  org_id: string;
  agent_id: string;
  hash: string;
  hint: string;
  roles: Json<string[]> | null;
  can: Json<CredentialRight[]> | null;
  label: string | null;
  created_at: number;
  expires_at: number | null;
  last_used_at: number | null;
  revoked_at: number | null;
  /** Id of the first credential of a chain of rotations; null for the first credential itself. */
  lineage: string | null;
}

/** A token with which a program manages an organisation. */
export interface ServiceTokenRow {
  id: string;
  org_id: string;
  hash: string;
  hint: string;
  scopes: Json<ServiceScope[]>;
  label: string | null;
  /** The member or service token that created it; null for a command. */
  created_by: string | null;
  created_at: number;
  expires_at: number | null;
  last_used_at: number | null;
  revoked_at: number | null;
}

/** A conversation. */
export interface ThreadRow {
  id: string;
  org_id: string;
  agent_id: string;
  session_id: string | null;
  title: string;
  /** Position of the newest run. */
  last_position: number;
  /** 0 while the thread has only calls and tasks. */
  listed: number;
  created_at: number;
  updated_at: number;
}

/** A function set. Sets of a service are ordered by `place`, then by `position`. */
export interface FunctionSetRow {
  agent_id: string;
  service: string;
  /** Name of the deployment; without one (`named` 0) the instance id of the runtime. */
  deployment: string;
  named: number;
  manifest_hash: string;
  org_id: string;
  /** Position of the deployment's first set. */
  place: number;
  /** 1, 2, 3 … within the agent. */
  position: number;
  first_seen_at: number;
  /** Hash of the set that was in use before. */
  replaces: string | null;
  widenings: Json<Widening[]>;
  confirmation: "none" | "pending" | "confirmed";
  confirmed_by: string | null;
  confirmed_at: number | null;
}

/** A person who may sign in to the console, until removed. */
export interface MemberTableRow {
  id: string;
  org_id: string;
  email: string | null;
  name: string;
  role: ConsoleRole;
  password_hash: string | null;
  created_at: number;
  last_seen_at: number | null;
  removed_at: number | null;
}

/** An open session of the console. Secrets of sessions and links are stored only as hashes. */
export interface SessionTableRow {
  hash: string;
  org_id: string;
  member_id: string;
  created_at: number;
  last_seen_at: number;
  confirmed_until: number;
  expires_at: number;
}

export interface LinkTableRow {
  hash: string;
  kind: LinkKind;
  /** Null for set-up links, like `member_id`. */
  org_id: string | null;
  member_id: string | null;
  /** The member who created the link; null for links made by a command or a service token. */
  created_by: string | null;
  created_by_token: string | null;
  created_at: number;
  expires_at: number;
  used_at: number | null;
}
