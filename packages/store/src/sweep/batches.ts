import { sql, type SqlBool } from "kysely";
import type { PageEnd } from "../page-cursor.ts";
import { fromJson } from "../columns.ts";
import type { Engine } from "../engine.ts";
import type { Pass } from "../pass.ts";

export const DAY_MS = 86_400_000;

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

/** Rows after a page's end. The first, redundant bound lets the database start there in the index. */
export const newerThan = (end: PageEnd, { at, id }: { at: string; id: string }) =>
  sql<SqlBool>`(${sql.ref(at)} >= ${end.at} and (${sql.ref(at)} > ${end.at} or ${sql.ref(id)} > ${end.id}))`;

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

/**
 * A past moment as a sub-select. With row-level security, Postgres uses an index only for conditions that cannot raise
 * an error (an error could reveal hidden rows), and its subtraction can overflow. A sub-select is evaluated before and
 * is a plain value.
 */
export const ago = ({ dialect }: Pick<Engine, "dialect">, ms: number) => sql<number>`(select ${dialect.now} - ${ms})`;
