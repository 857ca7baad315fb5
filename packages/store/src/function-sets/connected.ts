import { type Expression, type RawBuilder, sql, type SqlBool } from "kysely";
import type { Engine } from "../engine.ts";
import { ago } from "../moments.ts";
import { passedMs } from "./served.ts";

/** A connection without a heartbeat for this long counts as closed. */
const SEEN_MS = 30_000;

/** True for a `runtimes` row whose connection is open now. */
export function connectedNow(engine: Engine, runtimes: string): Expression<SqlBool> {
  const column = (name: string) => sql.ref(`${runtimes}.${name}`);
  return sql<SqlBool>`(${column("connected")} = 1 and ${column("last_seen_at")} > ${ago(engine, SEEN_MS + engine.health.outageMs)})`;
}

/** How long a runtime may be away before its detached calls count as lost. It tries to reconnect every few seconds. */
const GONE_MS = 300_000;

/** True for a runtime that will not return, or has no row. */
export const isGone = (engine: Engine, { agent, instance }: Record<"agent" | "instance", RawBuilder<unknown>>) =>
  sql<SqlBool>`not exists (select 1 from runtimes where runtimes.agent_id = ${agent}
    and runtimes.instance_id = ${instance} and (${connectedNow(engine, "runtimes")}
    or (draining = 0 and last_seen_at > ${ago(engine, passedMs(engine, GONE_MS))})))`;
