import { sql, type SqlBool } from "kysely";
import type { PageEnd } from "../page-cursor.ts";
import type { Engine } from "../schema.ts";

export const DAY_MS = 86_400_000;

/** Rows of one statement: a write that takes longer would hold up the commits of queries. */
export const BATCH = 200;

/** Deletes batch after batch until one is not full, or aborted; how many rows went. */
export async function inFull(
  size: number,
  signal: AbortSignal | undefined,
  batch: () => Promise<number>,
): Promise<number> {
  for (let sum = 0; ;) {
    if (signal?.aborted) return sum;
    const deleted = await batch();
    sum += deleted;
    if (deleted < size) return sum;
  }
}

/** Goes through rows from the oldest, page by page, until one is not full, or aborted. `page` says which it met. */
export async function eachPage(
  signal: AbortSignal | undefined,
  page: (after: PageEnd | undefined) => Promise<PageEnd[]>,
): Promise<void> {
  let after: PageEnd | undefined;
  await inFull(BATCH, signal, async () => {
    const met = await page(after);
    after = met.at(-1);
    return met.length;
  });
}

/** Rows that come after the end of a page. The first bound is all that an index needs to begin there. */
export const newerThan = (end: PageEnd, { at, id }: { at: string; id: string }) =>
  sql<SqlBool>`(${sql.ref(at)} >= ${end.at} and (${sql.ref(at)} > ${end.at} or ${sql.ref(id)} > ${end.id}))`;

/** Does `work` for each agent, so that each statement begins where an index finds its oldest rows. */
export async function forEachAgent(
  { db }: Engine,
  signal: AbortSignal | undefined,
  work: (agent: { id: string; org_id: string }) => Promise<unknown>,
): Promise<void> {
  for (const agent of await db.selectFrom("agents").select(["id", "org_id"]).execute()) {
    if (signal?.aborted) return;
    await work(agent);
  }
}

export async function forEachOrg(
  { db }: Engine,
  signal: AbortSignal | undefined,
  work: (orgId: string) => Promise<unknown>,
): Promise<void> {
  for (const { id } of await db.selectFrom("orgs").select("id").execute()) {
    if (signal?.aborted) return;
    await work(id);
  }
}

/**
 * A moment so long ago, as a sub-select: Postgres looks up in an index only what cannot fail, or a failure might tell of rows
 * that row-level security hides, and its subtraction can.
 */
export const ago = ({ dialect }: Pick<Engine, "dialect">, ms: number) => sql<number>`(select ${dialect.now} - ${ms})`;
