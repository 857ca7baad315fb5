import { type Expression, type ExpressionBuilder, sql, type SqlBool } from "kysely";
import type { Candidate, Difference, Position, ShadowStore } from "@patchbay/engine/ports/store/shadow-store";
import { excluded, fromJson, toJson } from "../columns.ts";
import { type Engine, transact } from "../engine.ts";
import { ago, inMs } from "../moments.ts";
import { endedCalls, withCallers } from "./newest-calls.ts";
import type { Schema } from "../tables/schema.ts";
import { passedMs } from "../function-sets/served.ts";
import { affects, is } from "../statement.ts";

/** Kinds of differences kept per candidate: a model may write any function name. */
const MOST_CHANGES = 500;
/** Runs named per difference. */
const EXAMPLES = 3;

/** Compares ended calls with a connected candidate. */
export function shadowStore(engine: Engine): ShadowStore {
  return {
    begin: (candidate, leaseMs) => transact(engine, (trx) => begin(trx, candidate, leaseMs)),

    async hold(candidate, leaseMs) {
      const { db, dialect } = engine;
      const held = await db
        .updateTable("shadows")
        .set({ connection_id: candidate.connectionId, lease_until: inMs(engine, leaseMs) })
        .where(ofSet(candidate))
        .where((eb) => eb.or([eb("connection_id", "=", candidate.connectionId), eb("lease_until", "<=", dialect.now)]))
        .returning(["position_at as at", "position_id as id"])
        .executeTakeFirst();
      return held;
    },

    async end({ agentId, connectionId }) {
      await engine.db
        .updateTable("shadows")
        .set({ lease_until: 0 })
        .where(is({ agent_id: agentId, connection_id: connectionId }))
        .execute();
    },

    async endedAfter(candidate, position, { limit, settleMs }) {
      const rows = await endedCalls(engine, candidate)
        .where(after(position))
        .where("finished_at", "<=", ago(engine, settleMs))
        .orderBy("finished_at")
        .orderBy("id")
        .limit(limit)
        .execute();
      const last = rows.at(-1);
      return { calls: await withCallers(engine, rows), position: last && { at: last.finished_at, id: last.id } };
    },

    async skip({ agentId, orgId }, position, ownMs) {
      // Calls that ended just before this service stopped are not late: no replica could compare them.
      const tooOld = ago(engine, passedMs(engine, ownMs));
      const { count } = await engine.reads
        .selectFrom("calls")
        .select((eb) => eb.fn.countAll<number>().as("count"))
        .where(is({ org_id: orgId, agent_id: agentId }))
        .where(after(position))
        .where("finished_at", "<", tooOld)
        .executeTakeFirstOrThrow();
      if (count > 0)
        await engine.db
          .updateTable("shadows")
          .set({
            dropped: sql<number>`dropped + cast(${count} as bigint)`,
            position_at: sql<number>`${tooOld} - 1`,
            position_id: "\uffff",
          })
          .where("agent_id", "=", agentId)
          .execute();
      return count;
    },

    record: (candidate, step) =>
      transact(engine, async (trx) => {
        const { judged, unanswered, position, differences } = step;
        const { agentId, connectionId } = candidate;
        const own = trx.db.updateTable("shadows").where(is({ agent_id: agentId, connection_id: connectionId }));
        const moved = own.set({
          position_at: position.at,
          position_id: position.id,
          judged: sql<number>`judged + cast(${judged} as bigint)`,
          unanswered: sql<number>`unanswered + cast(${unanswered} as bigint)`,
        });
        if ((await affects(trx, moved)) && differences.length > 0) await addDifferences(trx, candidate, differences);
      }),
  };
}

const ofSet =
  ({ agentId, service, manifestHash }: Candidate) =>
  (eb: ExpressionBuilder<Schema, "shadows">): Expression<SqlBool> =>
    eb.and({ agent_id: agentId, service, manifest_hash: manifestHash });

const after = ({ at, id }: Position) =>
  sql<SqlBool>`(finished_at >= cast(${at} as bigint) and (finished_at > cast(${at} as bigint) or id > ${id}))`;

async function begin(trx: Engine, candidate: Candidate, leaseMs: number): Promise<void> {
  const { db, dialect } = trx;
  const { agentId, orgId, connectionId, service, manifestHash } = candidate;
  const lease = { connection_id: connectionId, lease_until: inMs(trx, leaseMs) };
  const kept = await db.updateTable("shadows").set(lease).where(ofSet(candidate)).returning("agent_id").execute();
  if (kept.length > 0) return;
  // Deletes the differences too.
  await db.deleteFrom("shadows").where("agent_id", "=", agentId).execute();
  await db
    .insertInto("shadows")
    .values({
      agent_id: agentId,
      org_id: orgId,
      service,
      manifest_hash: manifestHash,
      ...lease,
      since: dialect.now,
      position_at: dialect.now,
      position_id: "",
      judged: 0,
      dropped: 0,
      unanswered: 0,
    })
    .onConflict((conflict) =>
      conflict.column("agent_id").doUpdateSet({ service, manifest_hash: manifestHash, ...lease }),
    )
    .execute();
}

/** The lease's row is locked, so no other connection changes the agent's differences. */
async function addDifferences(
  { db, dialect }: Engine,
  { agentId, orgId }: Candidate,
  differences: readonly Difference[],
): Promise<void> {
  const stored = await db.selectFrom("shadow_changes").selectAll().where("agent_id", "=", agentId).execute();
  const known = new Map(stored.map((row) => [keyOf(row), row]));
  let kinds = known.size;
  for (const [key, same] of Map.groupBy(differences, (one) => keyOf(kindOf(one)))) {
    const earlier = known.get(key);
    if (!earlier && kinds++ >= MOST_CHANGES) continue;
    const runIds = [...same.map(({ runId }) => runId).toReversed(), ...(earlier ? fromJson(earlier.examples) : [])];
    const sums = { calls: (earlier?.calls ?? 0) + same.length, examples: toJson(runIds.slice(0, EXAMPLES)) };
    await db
      .insertInto("shadow_changes")
      .values({ ...kindOf(same[0]!), ...sums, agent_id: agentId, org_id: orgId, last_at: dialect.now })
      .onConflict((conflict) =>
        conflict
          .columns(["agent_id", "function_name", "role", "was", "decision"])
          .doUpdateSet(excluded("calls", "examples", "last_at")),
      )
      .execute();
  }
}

const kindOf = ({ functionName, role, was, is: decision }: Difference) => ({
  function_name: functionName,
  role: toJson(role ?? null),
  was,
  decision,
});

const keyOf = ({ function_name, role, was, decision }: ReturnType<typeof kindOf>): string =>
  JSON.stringify([function_name, role, was, decision]);
