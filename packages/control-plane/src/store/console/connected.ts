import { type Expression, sql, type SqlBool } from "kysely";
import type { Engine } from "../schema.ts";

/** A link that gave no sign of life for so long is none. */
const SEEN_MS = 30_000;

/** A moment so long ago, as a sub-select, which Postgres works out once and then looks up in an index. */
export const ago = ({ dialect }: Engine, ms: number) => sql<number>`(select ${dialect.now} - ${sql.lit(ms)})`;

/** True of a row of `runtimes` whose link is open now. */
export function connectedNow(engine: Engine, runtimes: string): Expression<SqlBool> {
  const column = (name: string) => sql.ref(`${runtimes}.${name}`);
  return sql<SqlBool>`(${column("connected")} = 1 and ${column("last_seen_at")} > ${ago(engine, SEEN_MS)})`;
}
