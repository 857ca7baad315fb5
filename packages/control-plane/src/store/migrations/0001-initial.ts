import type { ColumnDefinitionBuilder, Kysely } from "kysely";

type Column = ColumnDefinitionBuilder;
const required = (column: Column) => column.notNull();
const primary = (column: Column) => column.notNull().primaryKey();
const zero = (column: Column) => column.notNull().defaultTo(0);
const refers = (target: string) => (column: Column) => column.notNull().references(target);
/** Goes with the row it belongs to. */
const belongsTo = (target: string) => (column: Column) => column.notNull().references(target).onDelete("cascade");

export async function up(db: Kysely<unknown>): Promise<void> {
  await createAccounts(db);
  await createConversations(db);
  await createRunDetails(db);
  await createRuntimes(db);
  await createBooks(db);
  await createIndexes(db);
}

async function createAccounts({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("orgs")
    .addColumn("id", "text", primary)
    .addColumn("name", "text", required)
    .addColumn("tier", "text", required)
    .addColumn("balance_micros", "bigint", zero)
    .addColumn("created_at", "bigint", required)
    .execute();
  await schema
    .createTable("agents")
    .addColumn("id", "text", primary)
    .addColumn("org_id", "text", refers("orgs.id"))
    .addColumn("name", "text", required)
    .addColumn("instructions", "text", required)
    .addColumn("created_at", "bigint", required)
    .addColumn("deleted_at", "bigint")
    .execute();
  await schema
    .createTable("credentials")
    .addColumn("id", "text", primary)
    .addColumn("kind", "text", required)
    .addColumn("org_id", "text", refers("orgs.id"))
    .addColumn("agent_id", "text", refers("agents.id"))
    .addColumn("hash", "text", (column) => column.notNull().unique())
    .addColumn("hint", "text", required)
    .addColumn("roles", "text")
    .addColumn("label", "text")
    .addColumn("created_at", "bigint", required)
    .addColumn("expires_at", "bigint")
    .addColumn("last_used_at", "bigint")
    .addColumn("revoked_at", "bigint")
    .execute();
}

async function createConversations({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("sessions")
    .addColumn("agent_id", "text", refers("agents.id"))
    .addColumn("id", "text", required)
    .addColumn("org_id", "text", refers("orgs.id"))
    .addColumn("created_at", "bigint", required)
    .addColumn("last_seen_at", "bigint", required)
    .addPrimaryKeyConstraint("sessions_key", ["agent_id", "id"])
    .execute();
  await schema
    .createTable("threads")
    .addColumn("id", "text", primary)
    .addColumn("org_id", "text", refers("orgs.id"))
    .addColumn("agent_id", "text", refers("agents.id"))
    .addColumn("session_id", "text")
    .addColumn("title", "text", required)
    .addColumn("last_position", "integer", required)
    .addColumn("created_at", "bigint", required)
    .addColumn("updated_at", "bigint", required)
    .execute();
  await schema
    .createTable("runs")
    .addColumn("id", "text", primary)
    .addColumn("org_id", "text", refers("orgs.id"))
    .addColumn("agent_id", "text", refers("agents.id"))
    .addColumn("thread_id", "text", belongsTo("threads.id"))
    .addColumn("position", "integer", required)
    .addColumn("session_id", "text")
    .addColumn("key_id", "text", required)
    .addColumn("role", "text")
    .addColumn("subject", "text")
    .addColumn("status", "text", required)
    .addColumn("owner", "text")
    .addColumn("fence", "integer", required)
    .addColumn("lease_until", "bigint")
    .addColumn("claims", "integer", zero)
    .addColumn("last_seq", "integer", zero)
    .addColumn("manifest_hash", "text")
    .addColumn("request", "text", required)
    .addColumn("cancel_requested", "integer", zero)
    .addColumn("created_at", "bigint", required)
    .addColumn("started_at", "bigint")
    .addColumn("finished_at", "bigint")
    .addColumn("deadline_at", "bigint", required)
    .addColumn("result", "text")
    .addColumn("history", "text")
    .addUniqueConstraint("runs_thread_position", ["thread_id", "position"])
    .execute();
}

async function createRunDetails({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("idempotency_keys")
    .addColumn("agent_id", "text", required)
    .addColumn("key", "text", required)
    .addColumn("run_id", "text", required)
    .addColumn("body_hash", "text", required)
    .addColumn("created_at", "bigint", required)
    .addPrimaryKeyConstraint("idempotency_keys_key", ["agent_id", "key"])
    .addForeignKeyConstraint("idempotency_keys_run", ["run_id"], "runs", ["id"], (constraint) =>
      constraint.onDelete("cascade").deferrable().initiallyDeferred(),
    )
    .execute();
  await schema
    .createTable("run_events")
    .addColumn("run_id", "text", belongsTo("runs.id"))
    .addColumn("seq", "integer", required)
    .addColumn("org_id", "text", required)
    .addColumn("body", "text", required)
    .addColumn("created_at", "bigint", required)
    .addPrimaryKeyConstraint("run_events_key", ["run_id", "seq"])
    .execute();
  await schema
    .createTable("turns")
    .addColumn("run_id", "text", belongsTo("runs.id"))
    .addColumn("step", "integer", required)
    .addColumn("org_id", "text", required)
    .addColumn("messages", "text", required)
    .addColumn("warnings", "text", required)
    .addColumn("input_tokens", "bigint", required)
    .addColumn("cached_input_tokens", "bigint", required)
    .addColumn("output_tokens", "bigint", required)
    .addColumn("cost_micros", "bigint", required)
    .addColumn("created_at", "bigint", required)
    .addPrimaryKeyConstraint("turns_key", ["run_id", "step"])
    .execute();
  await schema
    .createTable("calls")
    .addColumn("id", "text", primary)
    .addColumn("run_id", "text", belongsTo("runs.id"))
    .addColumn("org_id", "text", required)
    .addColumn("step", "integer", required)
    .addColumn("position", "integer", required)
    .addColumn("model_call_id", "text", required)
    .addColumn("function_name", "text", required)
    .addColumn("arguments", "text", required)
    .addColumn("instance_id", "text")
    .addColumn("attempt", "integer", required)
    .addColumn("outcome", "text")
    .addColumn("created_at", "bigint", required)
    .addColumn("finished_at", "bigint")
    .execute();
}

async function createRuntimes({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("manifests")
    .addColumn("agent_id", "text", refers("agents.id"))
    .addColumn("hash", "text", required)
    .addColumn("org_id", "text", required)
    .addColumn("body", "text", required)
    .addColumn("created_at", "bigint", required)
    .addPrimaryKeyConstraint("manifests_key", ["agent_id", "hash"])
    .execute();
  await schema
    .createTable("runtimes")
    .addColumn("agent_id", "text", refers("agents.id"))
    .addColumn("instance_id", "text", required)
    .addColumn("org_id", "text", required)
    .addColumn("manifest_hash", "text", required)
    .addColumn("connected", "integer", required)
    .addColumn("first_seen_at", "bigint", required)
    .addColumn("last_seen_at", "bigint", required)
    .addPrimaryKeyConstraint("runtimes_key", ["agent_id", "instance_id"])
    .execute();
}

/** Usage, ledger and audit refer to no run: they outlive it. */
async function createBooks({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable("usage")
    .addColumn("run_id", "text", required)
    .addColumn("step", "integer", required)
    .addColumn("org_id", "text", refers("orgs.id"))
    .addColumn("agent_id", "text", required)
    .addColumn("provider", "text", required)
    .addColumn("model", "text", required)
    .addColumn("input_tokens", "bigint", required)
    .addColumn("cached_input_tokens", "bigint", required)
    .addColumn("output_tokens", "bigint", required)
    .addColumn("cost_micros", "bigint", required)
    .addColumn("created_at", "bigint", required)
    .addPrimaryKeyConstraint("usage_key", ["run_id", "step"])
    .execute();
  await schema
    .createTable("ledger")
    .addColumn("id", "text", primary)
    .addColumn("org_id", "text", refers("orgs.id"))
    .addColumn("run_id", "text")
    .addColumn("step", "integer")
    .addColumn("kind", "text", required)
    .addColumn("micros", "bigint", required)
    .addColumn("created_at", "bigint", required)
    .addUniqueConstraint("ledger_once", ["run_id", "step", "kind"])
    .execute();
  await schema
    .createTable("audit")
    .addColumn("id", "text", primary)
    .addColumn("org_id", "text", refers("orgs.id"))
    .addColumn("agent_id", "text")
    .addColumn("run_id", "text")
    .addColumn("call_id", "text")
    .addColumn("action", "text", required)
    .addColumn("role", "text")
    .addColumn("key_id", "text")
    .addColumn("function_name", "text")
    .addColumn("rule", "text")
    .addColumn("detail", "text")
    .addColumn("created_at", "bigint", required)
    .execute();
}

async function createIndexes({ schema }: Kysely<unknown>): Promise<void> {
  const index = (table: string, name: string, columns: string[]) =>
    schema.createIndex(`${table}_${name}`).on(table).columns(columns).execute();
  await index("agents", "by_org", ["org_id", "created_at"]);
  await index("credentials", "by_agent", ["agent_id", "kind", "created_at"]);
  await index("threads", "by_update", ["agent_id", "updated_at", "id"]);
  await index("runs", "by_agent", ["agent_id", "created_at"]);
  await index("runs", "by_thread", ["thread_id", "status", "position"]);
  await index("runs", "by_lease", ["status", "lease_until"]);
  await index("runs", "by_end", ["finished_at"]);
  await index("idempotency_keys", "by_run", ["run_id"]);
  await index("calls", "by_run", ["run_id", "step", "position"]);
  await index("usage", "by_org", ["org_id", "created_at"]);
  await index("ledger", "by_org", ["org_id", "created_at"]);
  await index("audit", "by_agent", ["agent_id", "created_at"]);
  await index("audit", "by_run", ["run_id", "created_at"]);
}
