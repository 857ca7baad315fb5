import type { DatabaseConnection, Generated, Kysely } from "kysely";
import type { AccessChanges, AgentSettings, Manifest, Widening } from "@patchbay/protocol";
import type { Message } from "../ports/model-provider.ts";
import type { ModelRetry } from "../ports/records.ts";
import type { CredentialKind } from "../ports/stores.ts";
import type { AuditTableRow } from "./audit-row.ts";
import type { Json } from "./columns.ts";
import type { LinkTableRow, MemberTableRow, SessionTableRow } from "./console/member-rows.ts";
import type { DatabaseFiles } from "./database-files.ts";
import type { StoreDialect } from "./dialect/dialect.ts";
import type { CallTable, RunRow } from "./run-tables.ts";

/** What every part of the store works with. */
export interface Engine {
  db: Kysely<Schema>;
  /** The same database for lists and sums, which may read much: commits and leases never wait for them. It cannot write. */
  reads: Kysely<Schema>;
  /** The same database for what keeps leases and links alive: it does not wait where many queries wait for a connection. */
  urgent: Kysely<Schema>;
  dialect: StoreDialect;
  files: DatabaseFiles;
  /** `writable` is false from a write that the store could not take until the next one that it took. */
  health: { writable: boolean };
  /** That of the transaction `db` is, for statements that are compiled already: the way through `db` costs more than they do. */
  connection?: DatabaseConnection;
}

/** Times are milliseconds of the database's clock, flags 0 or 1, JSON is text, money micro-USD. */
export interface Schema {
  orgs: { id: string; name: string; tier: string; balance_micros: number; created_at: number };
  agents: {
    id: string;
    org_id: string;
    name: string;
    instructions: string;
    access_changes: Generated<AccessChanges>;
    settings: Generated<Json<AgentSettings>>;
    created_at: number;
    deleted_at: number | null;
    /** Counts the positions of its function sets. */
    last_set_position: Generated<number>;
  };
  credentials: CredentialRow;
  sessions: { agent_id: string; id: string; org_id: string; created_at: number; last_seen_at: number };
  threads: ThreadRow;
  /** Which roles a thread has runs of; '' stands for runs without a role. */
  thread_roles: {
    thread_id: string;
    role: string;
    org_id: string;
    agent_id: string;
    /** That of the role's newest run with one. */
    session_id: string | null;
    first_position: number;
    created_at: number;
    updated_at: number;
  };
  runs: RunRow;
  /** Valid for 24 h; its run may be inserted later in the same transaction. `scope`: the lineage of the credential that used it. */
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
    /** When the model was first asked; `created_at` is the turn's end. */
    began_at: number | null;
    /** Null where the first attempt gave the turn. */
    retries: Json<ModelRetry[]> | null;
  } & Spending;
  calls: CallTable;
  manifests: {
    agent_id: string;
    hash: string;
    org_id: string;
    body: Json<Manifest>;
    /** Moves while runtimes connect with the set. */
    created_at: number;
    first_seen_at: number | null;
  };
  function_sets: FunctionSetRow;
  runtimes: {
    agent_id: string;
    instance_id: string;
    org_id: string;
    manifest_hash: string;
    /** Null for a runtime last seen by a version that combined no services. */
    service: string | null;
    /** Null where the runtime names none. */
    deployment: string | null;
    connected: number;
    /** The newest link; these are null for a runtime last seen by a version that noted no links. */
    connection_id: string | null;
    replica_id: string | null;
    concurrency: number | null;
    opened_at: number | null;
    draining: Generated<number>;
    sdk: string | null;
    first_seen_at: number;
    last_seen_at: number;
  };
  /** Queries of an organisation by the minute. */
  rate_windows: { org_id: string; window_start: number; count: number };
  usage: {
    run_id: string;
    step: number;
    org_id: string;
    agent_id: string;
    role: string | null;
    provider: string;
    model: string;
    /** Above 1 in the row of a day: what remains of old usage. */
    turns: number;
  } & Spending;
  /** The sum of an organisation's entries is its balance, at every moment. */
  ledger: {
    id: string;
    org_id: string;
    run_id: string | null;
    step: number | null;
    kind: "grant" | "hold" | "settle" | "release";
    micros: number;
    created_at: number;
  };
  audit: AuditTableRow;
  members: MemberTableRow;
  console_sessions: SessionTableRow;
  console_links: LinkTableRow;
}

export interface Spending {
  input_tokens: number;
  cached_input_tokens: number;
  /** 0 also for turns of versions that did not note it. */
  cache_write_input_tokens: number;
  output_tokens: number;
  cost_micros: number;
  created_at: number;
}

export interface CredentialRow {
  id: string;
  kind: CredentialKind;
  org_id: string;
  agent_id: string;
  hash: string;
  hint: string;
  roles: Json<string[]> | null;
  label: string | null;
  created_at: number;
  expires_at: number | null;
  last_used_at: number | null;
  revoked_at: number | null;
  /** Id of the first credential of those that replaced one another by rotation; null for the first itself. */
  lineage: string | null;
}

export interface ThreadRow {
  id: string;
  org_id: string;
  agent_id: string;
  session_id: string | null;
  title: string;
  /** Position of the newest run. */
  last_position: number;
  created_at: number;
  updated_at: number;
}

/** A function set in the order of its service: by `place`, then by `position`. */
export interface FunctionSetRow {
  agent_id: string;
  service: string;
  /** The name of the deployment; without one (`named` 0) the instance id of its runtime. */
  deployment: string;
  named: number;
  manifest_hash: string;
  org_id: string;
  /** Position of the deployment's first set. */
  place: number;
  /** 1, 2, 3 … within the agent. */
  position: number;
  first_seen_at: number;
  /** The hash of the set that was in use before. */
  replaces: string | null;
  widenings: Json<Widening[]>;
  confirmation: "none" | "pending" | "confirmed";
  confirmed_by: string | null;
  confirmed_at: number | null;
}
