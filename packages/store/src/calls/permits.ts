import { type Expression, type ExpressionBuilder, type RawBuilder, sql, type SqlBool } from "kysely";
import type { PermitId, PermitStore } from "@patchbay/engine/ports/store/permit-store";
import { type Engine, transact } from "../engine.ts";
import { inMs } from "../moments.ts";
import type { Schema } from "../tables/schema.ts";

/** `call_id` in the row that is locked for changes to a function's permits. */
const LOCK = "";

export function permitStore(engine: Engine): PermitStore {
  return {
    acquire: (permit, options) => transact(engine, (trx) => acquire(trx, permit, options)),

    async hold(permit, holdMs) {
      const held = { expires_at: inMs(engine, holdMs) };
      await engine.db.updateTable("permits").set(held).where(own(permit)).execute();
    },

    async release(permit) {
      await engine.db.deleteFrom("permits").where(own(permit)).execute();
    },
  };
}

async function acquire(
  engine: Engine,
  permit: Parameters<PermitStore["acquire"]>[0],
  { limit, holdMs, waitMs, held = [] }: Parameters<PermitStore["acquire"]>[1],
): Promise<boolean> {
  const { db, dialect } = engine;
  const { agentId, functionName, callId, start, orgId } = permit;
  const row = { agent_id: agentId, function_name: functionName, org_id: orgId, queued_at: dialect.now, granted: 0 };
  const put = (key: { call_id: string; start: number }, expires_at: Moment, renewed: Moment) =>
    db
      .insertInto("permits")
      .values({ ...row, ...key, expires_at })
      .onConflict((conflict) =>
        conflict.columns(["agent_id", "function_name", "call_id", "start"]).doUpdateSet({ expires_at: renewed }),
      )
      .execute();
  const [lasts, waits] = [inMs(engine, holdMs), inMs(engine, waitMs)];
  await put({ call_id: LOCK, start: 0 }, sql.lit(0), sql.lit(0));
  await db
    .deleteFrom("permits")
    .where(ofFunction(permit))
    .where("expires_at", "<=", dialect.now)
    .$if(held.length > 0, (ended) => ended.where("call_id", "not in", held))
    .execute();
  await put({ call_id: callId, start }, waits, sql`case when permits.granted = 1 then ${lasts} else ${waits} end`);
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
    await db.updateTable("permits").set({ granted: 1, expires_at: lasts }).where(own(permit)).execute();
  return place !== undefined;
}

type Moment = RawBuilder<number>;
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
