import { type Expression, type ExpressionBuilder, sql, type SqlBool } from "kysely";
import type { PermitId, PermitStore } from "@patchbay/engine/ports/store/permit-store";
import { type Engine, transact } from "../engine.ts";
import type { Schema } from "../tables/schema.ts";

/** `call_id` in the row that is locked for changes to a function's permits. */
const LOCK = "";

export function permitStore(engine: Engine): PermitStore {
  return {
    acquire: (permit, options) => transact(engine, (trx) => acquire(trx, permit, options)),

    async hold(permit, holdMs) {
      const { db } = engine;
      await db
        .updateTable("permits")
        .where(own(permit))
        .set({ expires_at: inMs(engine, holdMs) })
        .execute();
    },

    async release(permit) {
      await engine.db.deleteFrom("permits").where(own(permit)).execute();
    },
  };
}

async function acquire(
  engine: Engine,
  permit: Parameters<PermitStore["acquire"]>[0],
  { limit, holdMs, waitMs }: Parameters<PermitStore["acquire"]>[1],
): Promise<boolean> {
  const { db, dialect } = engine;
  const { agentId, functionName, callId, start, orgId } = permit;
  const row = { agent_id: agentId, function_name: functionName, org_id: orgId, queued_at: dialect.now };
  await db
    .insertInto("permits")
    .values({ ...row, call_id: LOCK, start: 0, granted: 0, expires_at: 0 })
    .onConflict((conflict) =>
      conflict.columns(["agent_id", "function_name", "call_id", "start"]).doUpdateSet({ expires_at: 0 }),
    )
    .execute();
  await db.deleteFrom("permits").where(ofFunction(permit)).where("expires_at", "<=", dialect.now).execute();
  await db
    .insertInto("permits")
    .values({ ...row, call_id: callId, start, granted: 0, expires_at: inMs(engine, waitMs) })
    .onConflict((conflict) =>
      conflict.columns(["agent_id", "function_name", "call_id", "start"]).doUpdateSet({
        expires_at: sql<number>`case when permits.granted = 1 then ${inMs(engine, holdMs)} else ${inMs(engine, waitMs)} end`,
      }),
    )
    .execute();
  const others = await db
    .selectFrom("permits")
    .where(ofFunction(permit))
    .select(["call_id", "start", "granted", "queued_at"])
    .orderBy("granted", "desc")
    .orderBy("queued_at")
    .orderBy("call_id")
    .limit(limit)
    .execute();
  const place = others.find((one) => one.call_id === callId && one.start === start);
  if (place?.granted === 0)
    await db
      .updateTable("permits")
      .where(own(permit))
      .set({ granted: 1, expires_at: inMs(engine, holdMs) })
      .execute();
  return place !== undefined;
}

/** Postgres takes a parameter next to an operator for a text. */
const inMs = ({ dialect }: Engine, ms: number) => sql<number>`${dialect.now} + cast(${ms} as bigint)`;

type Condition = (eb: ExpressionBuilder<Schema, "permits">) => Expression<SqlBool>;

/** A function's rows, without the locked one. */
const ofFunction =
  ({ agentId, functionName }: PermitId): Condition =>
  (eb) =>
    eb.and([eb("agent_id", "=", agentId), eb("function_name", "=", functionName), eb("call_id", "<>", LOCK)]);

const own =
  ({ agentId, functionName, callId, start }: PermitId): Condition =>
  (eb) =>
    eb.and({ agent_id: agentId, function_name: functionName, call_id: callId, start });
