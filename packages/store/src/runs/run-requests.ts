import { type SelectQueryBuilder, sql } from "kysely";
import { present } from "@patchbay/kit";
import type { Engine } from "../engine.ts";
import { is } from "../statement.ts";
import type { Schema } from "../tables/schema.ts";

/** Ended runs get their facts within a second, if queries leave the time. */
const UNRECORDED_MS = 10_000;
/** Per request id: a client may send all its queries with the same one. */
const MOST = 1_000;

/**
 * Ids of the newest runs that a request started: by run facts, and by the runs themselves for the few without facts.
 * With `of`, only this organisation's or agent's: other clients may send the same id.
 */
export function startedBy(
  requestId: string,
  of: { orgId?: string | undefined; agentId?: string | undefined },
  { db, dialect }: Pick<Engine, "db" | "dialect">,
): SelectQueryBuilder<Schema, never, { id: string }> {
  const facts = db
    .selectFrom("run_facts")
    .select("run_facts.run_id as id")
    .where(is({ request_id: requestId, ...present({ org_id: of.orgId, agent_id: of.agentId }) }))
    .orderBy("run_facts.id", "desc")
    .limit(MOST);
  const some = db.selectFrom("runs").select("runs.id").where("runs.request_id", "=", requestId);
  const ended = sql<number>`(select ${dialect.now} - ${sql.lit(UNRECORDED_MS)})`;
  return db
    .selectFrom(facts.as("recorded"))
    .select("id")
    .unionAll(some.where("runs.finished_at", "is", null))
    .unionAll(some.where("runs.finished_at", ">=", ended));
}
