import { type Kysely, sql } from "kysely";
import type { Schema } from "../schema.ts";

/** The order of an agent's function sets within each service, and of which service and deployment a runtime is. */
export async function up(db: Kysely<Schema>): Promise<void> {
  const { schema } = db;
  await schema
    .createTable("function_sets")
    .addColumn("agent_id", "text", (column) => column.notNull().references("agents.id"))
    .addColumn("service", "text", (column) => column.notNull())
    .addColumn("deployment", "text", (column) => column.notNull())
    .addColumn("named", "integer", (column) => column.notNull())
    .addColumn("manifest_hash", "text", (column) => column.notNull())
    .addColumn("org_id", "text", (column) => column.notNull())
    .addColumn("place", "integer", (column) => column.notNull())
    .addColumn("position", "integer", (column) => column.notNull())
    .addColumn("first_seen_at", "bigint", (column) => column.notNull())
    .addColumn("replaces", "text")
    .addColumn("widenings", "text", (column) => column.notNull())
    .addColumn("confirmation", "text", (column) => column.notNull())
    .addColumn("confirmed_by", "text")
    .addColumn("confirmed_at", "bigint")
    .addPrimaryKeyConstraint("function_sets_key", ["agent_id", "service", "named", "deployment", "manifest_hash"])
    .execute();
  await schema
    .alterTable("agents")
    .addColumn("last_set_position", "integer", (column) => column.notNull().defaultTo(0))
    .execute();
  await schema.alterTable("runtimes").addColumn("service", "text").execute();
  await schema.alterTable("runtimes").addColumn("deployment", "text").execute();
  await nameServices(db);
  await orderInstances(db);
}

/** One function set at a time: a database may hold many, of half a megabyte each. */
async function nameServices(db: Kysely<Schema>): Promise<void> {
  const sets = await db.selectFrom("runtimes").select(["agent_id", "manifest_hash"]).distinct().execute();
  for (const { agent_id, manifest_hash } of sets) {
    const set = await db
      .selectFrom("manifests")
      .select("body")
      .where("agent_id", "=", agent_id)
      .where("hash", "=", manifest_hash)
      .executeTakeFirst();
    if (!set) continue;
    const { name } = JSON.parse(set.body) as { name: string };
    await db
      .updateTable("runtimes")
      .set({ service: name })
      .where("agent_id", "=", agent_id)
      .where("manifest_hash", "=", manifest_hash)
      .execute();
  }
}

/** Runtimes that survive the upgrade keep their order, so that an old one which reconnects last does not count as new. */
async function orderInstances(db: Kysely<Schema>): Promise<void> {
  await sql`
    insert into function_sets (agent_id, service, deployment, named, manifest_hash, org_id, place, position,
      first_seen_at, widenings, confirmation)
    select agent_id, service, instance_id, 0, manifest_hash, org_id, place, place, first_seen_at, '[]', 'none'
    from (select runtimes.*, row_number() over (partition by agent_id order by first_seen_at, instance_id) as place
      from runtimes where service is not null) as seen`.execute(db);
  await sql`
    update agents set last_set_position = (select coalesce(max(position), 0) from function_sets
      where function_sets.agent_id = agents.id)`.execute(db);
}
