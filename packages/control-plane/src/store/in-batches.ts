/** One statement takes 32,766 values in SQLite, twice as many in Postgres; no row here has more than 20. */
const ROWS = 500;

/** Gives `rows` to `insert` in as many statements as their values need. */
export async function inBatches<Row>(rows: readonly Row[], insert: (batch: Row[]) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < rows.length; at += ROWS) await insert(rows.slice(at, at + ROWS));
}
