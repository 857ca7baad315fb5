import { type Expression, sql, type SqlBool } from "kysely";
import type { Engine } from "../engine.ts";
import { ago } from "../moments.ts";

/** A connection without a heartbeat for this long counts as closed. */
const SEEN_MS = 30_000;

/** True for a `runtimes` row whose connection is open now. */
export function connectedNow(engine: Engine, runtimes: string): Expression<SqlBool> {
  const column = (name: string) => sql.ref(`${runtimes}.${name}`);
  return sql<SqlBool>`(${column("connected")} = 1 and ${column("last_seen_at")} > ${ago(engine, SEEN_MS + engine.health.outageMs)})`;
}
