import type { UpkeepName } from "@patchbay/engine/ports/store/upkeep";
import type { Generated } from "kysely";
import type { AccessChanges, AgentSettings, Manifest, ReportedCase } from "@patchbay/protocol";
import type { ApprovalRow } from "./approvals.ts";
import type { Json } from "../columns.ts";
import type { AuditTables } from "./audit.ts";
import type { CredentialTables } from "./credentials.ts";
import type { RunTables } from "./run-tables.ts";
import type { CallTable } from "./calls.ts";
import type { RunRow } from "./runs.ts";
import type { TurnRow, UsageRow } from "./turns.ts";
import type { WebhookTables } from "./webhooks.ts";
import type { LinkKind, MemberRecord } from "@patchbay/engine/ports/store/members";
import type { ConnectedRuntime, DeployedSet, RuntimeStore, SetIdentity } from "@patchbay/engine/ports/store/stores";
import { bigint, flag, integer, json, nullable, pick, recordColumns, type RowOf, text } from "./table.ts";

/** The tables. Times are milliseconds on the database's clock, flags are 0 or 1, JSON is text, money is micro-USD. */
export interface Schema extends RunTables, AuditTables, CredentialTables, WebhookTables {
  orgs: { id: string; name: string; tier: string; created_at: number; audit_key: string | null };
  /** Credits of organisations; none without a row. All its runs update the row, so no foreign key may point at it. */
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
    /** The newest function set's position. */
    last_set_position: Generated<number>;
  };
  /** Values that `--init-` options have set up; for secrets, their hashes. */
  first_start: { name: string; org_id: string; value: string };
  sessions: { agent_id: string; id: string; org_id: string; created_at: number; last_seen_at: number };
  threads: ThreadRow;
  /** The roles with runs in a thread; '' for runs without a role. Thread lists for keys with a role list start here. */
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
    /** The thread's caller. */
    caller_id: string | null;
    created_at: number;
    updated_at: number;
  };
  /** What tainted runs wrote, as digests. */
  written_values: { agent_id: string; digest: string; org_id: string; is_text: number; created_at: number };
  /** Threads by the ids that clients use for them. */
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
   * Valid for 24 h from `created_at`, which is the deadline of a run that waited for an approval. A key is inserted
   * before its run, in the same transaction. `scope`: the credential's lineage.
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
  turns: TurnRow;
  calls: CallTable;
  approvals: ApprovalRow;
  manifests: {
    agent_id: string;
    hash: string;
    org_id: string;
    body: Json<Manifest>;
    /** Null if the newest runtime reported none. Read only for members who may make test calls. */
    reported_cases: Json<ReportedCase[]> | null;
    /** Null if the newest runtime reported none. A later version may have written it, so it is checked when read. */
    access_lock: Json<Readonly<Record<string, unknown>>> | null;
    /** Since when runtimes with this set have reported this lock. */
    lock_since: number | null;
    /** Renewed while runtimes connect with the set. */
    created_at: number;
    first_seen_at: number;
  };
  function_sets: FunctionSetRow;
  runtimes: RuntimeRow;
  /** One row, from the replica that started last. */
  service: { id: number; address: string };
  /** One row: `served.ts`. */
  served: { id: number; last_at: number; since: number; gap_from: number | null };
  /** `upkeep.ts`. `reached`: the index position, `run-index.ts`. */
  upkeep: { name: UpkeepName; owner: string; until: number; reached: Generated<number | null> };
  /** Queries of an organisation per minute. */
  rate_windows: { org_id: string; window_start: number; count: number };
  usage: UsageRow;
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
  /** Counts changes to the lists in the console. Triggers write it. `agent_id` is '' for organisation lists. */
  change_counters: { org_id: string; agent_id: string; topic: string; count: number };
}

/** A conversation. */
export interface ThreadRow {
  id: string;
  org_id: string;
  agent_id: string;
  session_id: string | null;
  title: string;
  /** The newest run's position. */
  last_position: number;
  /** 0 while the thread has only calls and tasks. */
  listed: number;
  /** Its first run's proven caller; null for none. */
  caller_id: string | null;
  created_at: number;
  updated_at: number;
}

const SET = {
  service: text("service"),
  deployment: text("deployment"),
  named: flag("named"),
  manifestHash: text("manifest_hash"),
  firstSeenAt: bigint("first_seen_at"),
  replaces: text("replaces"),
  widenings: json("widenings"),
  confirmation: text("confirmation"),
  confirmedBy: text("confirmed_by"),
  confirmedAt: bigint("confirmed_at"),
};

/** A function set. A service's sets are ordered by `place`, then by `position`. */
export interface FunctionSetRow extends RowOf<Omit<DeployedSet, "position">, typeof SET> {
  agent_id: string;
  org_id: string;
  /** Position of the deployment's first set. */
  place: number;
  /** 1, 2, 3 … within the agent. */
  position: number;
}

export const setColumns = recordColumns<Omit<DeployedSet, "position">>()(SET);
export const identityColumns = recordColumns<SetIdentity>()(
  pick(SET, ["service", "deployment", "named", "manifestHash"]),
);

const RUNTIME = {
  agentId: text("agent_id"),
  instanceId: text("instance_id"),
  service: text("service"),
  deployment: text("deployment"),
  connectionId: text("connection_id"),
  replicaId: text("replica_id"),
  manifestHash: text("manifest_hash"),
  concurrency: integer("concurrency"),
  draining: flag("draining"),
};
const REGISTERED = { ...RUNTIME, sdk: text("sdk"), host: text("host") };
type Registered = Parameters<RuntimeStore["connectionOpened"]>[0];

/** A runtime with its newest connection. `host` is null in an earlier version. */
export interface RuntimeRow extends RowOf<Registered, typeof REGISTERED> {
  org_id: string;
  connected: number;
  opened_at: number;
  first_seen_at: number;
  last_seen_at: number;
}

export const runtimeColumns = recordColumns<ConnectedRuntime>()(RUNTIME);
export const registeredColumns = recordColumns<Registered>()(REGISTERED);

const MEMBER = {
  memberId: text("id"),
  orgId: text("org_id"),
  email: nullable(text("email")),
  name: text("name"),
  role: text("role"),
  passwordHash: nullable(text("password_hash")),
  createdAt: bigint("created_at"),
  lastSeenAt: nullable(bigint("last_seen_at")),
};

/** A person who may sign in to the console, until removed. */
export type MemberTableRow = RowOf<MemberRecord, typeof MEMBER> & { removed_at: number | null };
export const memberColumns = recordColumns<MemberRecord>()(MEMBER);

/** An open console session. Session and link secrets are stored only as hashes. */
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
  /** The member who created the link; null for links created by a command or a service token. */
  created_by: string | null;
  created_by_token: string | null;
  created_at: number;
  expires_at: number;
  used_at: number | null;
}
