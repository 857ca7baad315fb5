import { LIMITS } from "@patchbay/protocol";
import { sql, type InsertObject, type Transaction } from "kysely";
import type { NewRun, RunStore, StartedRun } from "../ports/run-store.ts";
import { insertAudit } from "./audit.ts";
import { toJson } from "./columns.ts";
import { insertEvents } from "./runs-commit.ts";
import { RUN_COLUMNS, toRunRecord } from "./run-record.ts";
import type { Engine, RunRow, Schema } from "./schema.ts";
import { titleOf } from "./thread-title.ts";

const IDEMPOTENCY_MS = 24 * 3_600_000;

/** Leaves a transaction with an answer and without a trace. */
class NothingStored extends Error {
  readonly answer: StartedRun;

  constructor(answer: StartedRun) {
    super(answer.kind);
    this.answer = answer;
  }
}

/** How runs come into being. */
export function runStarts(engine: Engine): Pick<RunStore, "start" | "refuse" | "findByIdempotencyKey"> {
  const { db } = engine;
  return {
    async start(run) {
      try {
        return await db.transaction().execute((trx) => start(engine, trx, run));
      } catch (error) {
        if (error instanceof NothingStored) return error.answer;
        throw error;
      }
    },

    async refuse(run, { code, event, result }) {
      await db.transaction().execute(async (trx) => {
        const position = await placeInThread(engine, trx, run);
        if (position === undefined) return;
        await touchSession(engine, trx, run);
        await insertRun(engine, trx, run, {
          position,
          status: code === "cancelled" ? "cancelled" : "failed",
          last_seq: event.seq,
          finished_at: engine.dialect.now,
          result: result ? toJson(result) : null,
        });
        await insertEvents(engine, trx, run, [event]);
        await insertAudit(engine, trx, run.audit, run);
      });
    },

    async findByIdempotencyKey(agentId, key) {
      const found = await liveKey(engine, db, agentId, key);
      return found && { runId: found.run_id, bodyHash: found.body_hash };
    },
  };
}

async function start(engine: Engine, trx: Transaction<Schema>, run: NewRun): Promise<StartedRun> {
  if (run.idempotency) await takeIdempotencyKey(engine, trx, run, run.idempotency);
  const position = await placeInThread(engine, trx, run);
  if (position === undefined) throw new NothingStored({ kind: "thread_gone" });
  const mustWait = !run.newThread && (await othersWait(trx, run.threadId));
  await touchSession(engine, trx, run);
  const { now } = engine.dialect;
  const leased = { owner: run.owner, lease_until: sql<number>`${now} + ${run.leaseMs}`, started_at: now };
  const row = await insertRun(engine, trx, run, {
    position,
    ...(mustWait ? { status: "queued" } : { status: "running", fence: 1, ...leased }),
  });
  await insertAudit(engine, trx, run.audit, run);
  return { kind: "started", run: toRunRecord(row) };
}

/** Gives the run its place in the thread, whose row stays locked until the end: runs of one thread start one after another. */
async function placeInThread({ dialect }: Engine, trx: Transaction<Schema>, run: NewRun): Promise<number | undefined> {
  if (run.newThread) {
    const thread = { id: run.threadId, org_id: run.orgId, agent_id: run.agentId, title: titleOf(run.request) };
    const times = { created_at: dialect.now, updated_at: dialect.now };
    const session = { session_id: run.sessionId ?? null };
    await trx
      .insertInto("threads")
      .values({ ...thread, ...session, ...times, last_position: 1 })
      .execute();
    return 1;
  }
  const thread = await trx
    .updateTable("threads")
    .set((eb) => ({
      last_position: eb("last_position", "+", 1),
      updated_at: dialect.now,
      ...(run.sessionId !== undefined && { session_id: run.sessionId }),
    }))
    .where("id", "=", run.threadId)
    .where("agent_id", "=", run.agentId)
    .returning("last_position")
    .executeTakeFirst();
  return thread?.last_position;
}

/** True when the thread is busy; refuses the run when the queue is full. */
async function othersWait(trx: Transaction<Schema>, threadId: string): Promise<boolean> {
  const active = await trx
    .selectFrom("runs")
    .select("status")
    .where("thread_id", "=", threadId)
    .where("status", "in", ["queued", "running"])
    .execute();
  const queued = active.filter(({ status }) => status === "queued");
  if (queued.length >= LIMITS.threadQueueDepth) throw new NothingStored({ kind: "busy" });
  return active.length > 0;
}

type Rest = Pick<RunRow, "position" | "status"> & Partial<InsertObject<Schema, "runs">>;

function insertRun({ dialect }: Engine, trx: Transaction<Schema>, run: NewRun, rest: Rest) {
  return trx
    .insertInto("runs")
    .values({
      id: run.runId,
      org_id: run.orgId,
      agent_id: run.agentId,
      thread_id: run.threadId,
      session_id: run.sessionId ?? null,
      key_id: run.keyId,
      role: run.request.role ?? null,
      subject: run.subject ?? null,
      manifest_hash: run.manifestHash ?? null,
      request: toJson(run.request),
      created_at: dialect.now,
      deadline_at: sql<number>`${dialect.now} + ${run.timeoutMs}`,
      fence: 0,
      claims: 0,
      last_seq: 0,
      cancel_requested: 0,
      ...rest,
    })
    .returning(RUN_COLUMNS)
    .executeTakeFirstOrThrow();
}

async function touchSession({ dialect }: Engine, trx: Transaction<Schema>, run: NewRun): Promise<void> {
  if (run.sessionId === undefined) return;
  const times = { created_at: dialect.now, last_seen_at: dialect.now };
  await trx
    .insertInto("sessions")
    .values({ agent_id: run.agentId, id: run.sessionId, org_id: run.orgId, ...times })
    .onConflict((conflict) => conflict.columns(["agent_id", "id"]).doUpdateSet({ last_seen_at: dialect.now }))
    .execute();
}

async function takeIdempotencyKey(
  engine: Engine,
  trx: Transaction<Schema>,
  run: NewRun,
  { key, bodyHash }: NonNullable<NewRun["idempotency"]>,
): Promise<void> {
  const { now } = engine.dialect;
  const content = { run_id: run.runId, body_hash: bodyHash, created_at: now };
  const taken = await trx
    .insertInto("idempotency_keys")
    .values({ agent_id: run.agentId, key, ...content })
    .onConflict((conflict) =>
      conflict
        .columns(["agent_id", "key"])
        .doUpdateSet(content)
        .where("idempotency_keys.created_at", "<=", sql<number>`${now} - ${sql.lit(IDEMPOTENCY_MS)}`),
    )
    .returning("run_id")
    .executeTakeFirst();
  if (taken) return;
  const owner = await trx
    .selectFrom("idempotency_keys")
    .select(["run_id", "body_hash"])
    .where("agent_id", "=", run.agentId)
    .where("key", "=", key)
    .executeTakeFirstOrThrow();
  throw new NothingStored({ kind: "joined", runId: owner.run_id, sameBody: owner.body_hash === bodyHash });
}

function liveKey({ dialect }: Engine, db: Engine["db"], agentId: string, key: string) {
  return db
    .selectFrom("idempotency_keys")
    .select(["run_id", "body_hash"])
    .where("agent_id", "=", agentId)
    .where("key", "=", key)
    .where("created_at", ">", sql<number>`${dialect.now} - ${sql.lit(IDEMPOTENCY_MS)}`)
    .executeTakeFirst();
}
