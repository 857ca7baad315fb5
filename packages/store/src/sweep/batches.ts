import { type Expression, sql, type SqlBool } from "kysely";
import type { PageEnd } from "../page-cursor.ts";
import { fromJson } from "../columns.ts";
import { type Engine, repeat } from "../engine.ts";
import type { Pass } from "../pass.ts";
import type { Schema } from "../tables/schema.ts";
import { listed } from "../tables/table.ts";

/** Rows per statement. Larger writes would delay the commits of queries. */
export const BATCH = 200;

/** Deletes batch after batch until a batch is not full or the signal is aborted. Returns the number of deleted rows. */
export async function inFull(size: number, { signal, spend }: Pass, batch: () => Promise<number>): Promise<number> {
  for (let sum = 0; ;) {
    if (signal?.aborted) return sum;
    const deleted = await spend(batch);
    sum += deleted;
    if (deleted < size) return sum;
  }
}

/** A table, its key, and the column that orders its rows by age. */
interface Aged {
  table: keyof Schema;
  key: readonly string[];
  by: string;
}

/**
 * Deletes the rows to which a condition applies, the oldest first. Each row is checked again when it is deleted: it may
 * have changed since its batch was selected.
 */
export async function deleteOld(
  engine: Engine,
  pass: Pass,
  { table, key, by }: Aged,
  isOld: Expression<unknown>,
): Promise<void> {
  const { db } = engine;
  const oldest = sql`select ${listed(key)} from ${sql.table(table)} where ${isOld} order by ${sql.ref(by)} limit ${sql.lit(BATCH)}`;
  const deletion = db.deleteFrom(table).where(sql<SqlBool>`(${listed(key)}) in (${oldest}) and ${isOld}`);
  await inFull(BATCH, pass, async () => {
    const { numAffectedRows } = await repeat(engine, () => db.executeQuery(deletion));
    return Number(numAffectedRows);
  });
}

/**
 * Visits rows from the oldest, page by page, until a page is not full or the signal is aborted. `page` returns the
 * visited rows: rows that stay must not be visited again, or a page with only such rows would end the sweep.
 */
export async function eachPage(pass: Pass, page: (after: PageEnd | undefined) => Promise<PageEnd[]>): Promise<void> {
  let after: PageEnd | undefined;
  await inFull(BATCH, pass, async () => {
    const met = await page(after);
    after = met.at(-1);
    return met.length;
  });
}

/** An agent in a sweep. Its rows are kept for the service's days, or for its own if fewer. */
interface SweptAgent {
  id: string;
  org_id: string;
  /** Infinite without a setting. */
  ownDays: number;
}

/** Runs `work` for each agent: the indexes that order rows by time start with the agent. */
export async function forEachAgent(
  { db }: Engine,
  { signal }: Pass,
  work: (agent: SweptAgent) => Promise<unknown>,
): Promise<void> {
  for (const { settings, ...agent } of await db.selectFrom("agents").select(["id", "org_id", "settings"]).execute()) {
    if (signal?.aborted) return;
    const { retentionDays: ownDays = Infinity } = fromJson(settings);
    await work({ ...agent, ownDays });
  }
}

/** As `forEachAgent`, for each organisation. */
export async function forEachOrg(
  { db }: Engine,
  { signal }: Pass,
  work: (orgId: string) => Promise<unknown>,
): Promise<void> {
  for (const { id } of await db.selectFrom("orgs").select("id").execute()) {
    if (signal?.aborted) return;
    await work(id);
  }
}
