import { type Kysely, sql } from "kysely";

/** Tables of which each query writes rows, with their keys to rows that all queries of an organisation share. */
const SHARED: [table: string, columns: string[]][] = [
  ["sessions", ["agent_id", "org_id"]],
  ["threads", ["org_id", "agent_id"]],
  ["runs", ["org_id", "agent_id"]],
  ["usage", ["org_id"]],
  ["ledger", ["org_id"]],
  ["audit", ["org_id"]],
];

/**
 * Drops the foreign keys by which Postgres locks the row of the organisation or the agent for each row that a query writes: all
 * queries lock the same two rows. The ids come from a credential, which refers to both, and neither is ever deleted. SQLite locks
 * no rows, and cannot drop a key.
 */
export async function dropSharedKeys(db: Kysely<unknown>, { rowLevelSecurity }: { rowLevelSecurity: boolean }) {
  if (!rowLevelSecurity) return;
  for (const [table, columns] of SHARED)
    for (const column of columns)
      await sql`alter table ${sql.table(table)} drop constraint if exists ${sql.id(`${table}_${column}_fkey`)}`.execute(
        db,
      );
  // Steps update the row of their run: a new version in the same page needs no new entries in the indexes.
  await sql`alter table runs set (fillfactor = 60)`.execute(db);
}
