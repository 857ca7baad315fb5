import { LIMITS } from "@patchbay/protocol";
import { type NewRun, recordOf, type RunStore, type StartedRun } from "@patchbay/engine/ports/store/run-store";
import { insertAudit } from "../audit/audit.ts";
import { reserve } from "./credits.ts";
import { liveKey, takeIdempotencyKey } from "./idempotency-keys.ts";
import { continueRun, isNewest } from "./retries.ts";
import { insertEvents } from "./runs-commit.ts";
import { type Engine, transact, transactOrUndo, Undone } from "../engine.ts";
import { inMs } from "../moments.ts";
import type { ThreadRow } from "../tables/schema.ts";
import { affects, is, statement } from "../statement.ts";
import { newRowOf, resultColumns, type RunRow } from "../tables/runs.ts";
import { isListed, roleRowOf, storeRole, titleOf } from "../threads/thread-roles.ts";
import { storeDeliveries } from "../webhooks.ts";

const nothingStored = (answer: StartedRun) => new Undone(answer);

/** Starts runs. Start and checks are one transaction, so that a crash leaves either a whole run or nothing. */
export function runStarts(engine: Engine): Pick<RunStore, "start" | "refuse" | "findByIdempotencyKey"> {
  const grouped = engine.dialect.groupStarts?.(engine);
  return {
    async start(run) {
      const started = await grouped?.(run);
      if (!started) return transactOrUndo(engine, (trx) => start(trx, run));
      const { reserved, ...times } = started;
      return startedRun(run, { status: "running", fence: 1, started_at: times.created_at, ...times }, reserved);
    },

    async refuse(run, { code, event, result, report }) {
      await transact(engine, async (trx) => {
        const position = await assignPosition(trx, run);
        if (position === undefined) return;
        // If another thread already has the key, this run stays in a thread without one.
        await takeThreadKey(trx, run);
        await touchSession(trx, run);
        const status = code === "cancelled" ? "cancelled" : "failed";
        const row = { ...newRowOf(run), position, timeoutMs: run.timeoutMs };
        await insertRefused(trx, { ...row, status, last_seq: event.seq, ...resultColumns(status, result) });
        await insertEvents(trx, run, [event]);
        await insertAudit(trx, run.audit, run);
        if (report) await storeDeliveries(trx, run, [report]);
      });
    },

    async findByIdempotencyKey(user, key) {
      const found = await liveKey(engine, user, key);
      return found && { runId: found.run_id, bodyHash: found.body_hash };
    },
  };
}

/**
 * Locks in the common transaction order: idempotency key, thread, run, balance. The key comes first: when two requests
 * have one key, the second waits here and then joins the first one's run.
 */
async function start(trx: Engine, run: NewRun): Promise<StartedRun> {
  // The request joins the run that has the key, or is rejected when its body differs.
  const known = run.idempotency && (await takeIdempotencyKey(trx, run, run.idempotency));
  if (known) throw nothingStored({ kind: "joined", ...known });
  const position = await assignPosition(trx, run);
  if (position === undefined || !(await takeThreadKey(trx, run))) throw nothingStored({ kind: "thread_gone" });
  if (run.retries && !(await isNewest(trx, run, run.retries, position))) throw nothingStored({ kind: "outdated" });
  const behindOthers = !run.newThread && (await isBusy(trx, run.threadId));
  const mustWait = behindOthers || run.mustWait === true;
  await touchSession(trx, run);
  const { runId, orgId, owner, leaseMs, timeoutMs, reserveMicros = 0 } = run;
  const row = { ...newRowOf(run), position, timeoutMs };
  const [times] = mustWait ? await insertQueued(trx, row) : await insertRunning(trx, { ...row, owner, leaseMs });
  const lastSeq = run.retries ? await continueRun(trx, run, run.retries) : 0;
  await insertAudit(trx, run.audit, run);
  const reserved = mustWait ? undefined : await reserve(trx, { runId, orgId, step: 0 }, reserveMicros);
  const started = startedRun(run, times!, reserved);
  return { ...started, run: { ...started.run, lastSeq } };
}

const startedRun = (run: NewRun, made: MadeRow, reservedMicros = 0): Extract<StartedRun, { kind: "started" }> => ({
  kind: "started",
  run: recordOf(run, {
    status: made.status,
    fence: made.fence,
    createdAt: made.created_at,
    deadlineAt: made.deadline_at,
    startedAt: made.started_at ?? undefined,
  }),
  reservedMicros,
});

/**
 * Sets the run's position in the thread. The thread's row stays locked until the transaction ends, so a thread's runs
 * start one after the other: two of them cannot both find the thread idle.
 */
async function assignPosition(trx: Engine, run: NewRun): Promise<number | undefined> {
  const { threadId, agentId, sessionId, newThread } = run;
  if (newThread) {
    const of = { org_id: run.orgId, agent_id: agentId, session_id: sessionId ?? null };
    const shown = { title: titleOf(run.request), listed: isListed(run), caller_id: run.callerId ?? null };
    await insertThread(trx, { id: threadId, ...of, ...shown, last_position: 1 });
    await storeRole(trx, roleRowOf(run, { last_position: 1, caller_id: shown.caller_id }));
    return 1;
  }
  const { db, dialect } = trx;
  const thread = await db
    .updateTable("threads")
    .set((eb) => ({
      last_position: eb("last_position", "+", 1),
      ...(isListed(run) === 1 && { listed: 1 }),
      updated_at: dialect.now,
      ...(sessionId !== undefined && { session_id: sessionId }),
    }))
    .where(is({ id: threadId, agent_id: agentId }))
    .returning(["last_position", "caller_id"])
    .executeTakeFirst();
  if (thread) await storeRole(trx, roleRowOf(run, thread));
  return thread?.last_position;
}

/**
 * Sets the new thread's key. False if another thread has it. When two runs bring the same new key, the second waits
 * here until the first has its thread.
 */
async function takeThreadKey({ db, dialect }: Engine, run: NewRun): Promise<boolean> {
  if (!run.threadKey) return true;
  const { scope, id } = run.threadKey;
  const thread = { agent_id: run.agentId, thread_id: run.threadId, org_id: run.orgId, created_at: dialect.now };
  const key = db.insertInto("thread_keys").values({ ...thread, scope, external_id: id });
  return affects(
    { db },
    key.onConflict((conflict) => conflict.doNothing()),
  );
}

const insertThread = statement((row: Omit<ThreadRow, "created_at" | "updated_at">, { db, dialect }) =>
  db.insertInto("threads").values({ ...row, created_at: dialect.now, updated_at: dialect.now }),
);

/** True when the thread has open runs. Refuses the run when the thread's queue is full, or its run waits for an approval. */
async function isBusy({ db }: Engine, threadId: string): Promise<boolean> {
  const active = await db
    .selectFrom("runs")
    .select("status")
    .where(is({ thread_id: threadId, finished_at: null }))
    .where("status", "in", ["queued", "running", "waiting"])
    .execute();
  // Behind a run that waits for a person, the new run would only use up its time.
  if (active.some(({ status }) => status === "waiting")) throw nothingStored({ kind: "busy", waits: true });
  if (active.length > LIMITS.threadQueueDepth) throw nothingStored({ kind: "busy" });
  return active.length > 0;
}

type NewRow = ReturnType<typeof newRowOf> & Pick<RunRow, "position"> & { timeoutMs: number };
/** What the database decides about a new run. */
const MADE = ["status", "fence", "created_at", "started_at", "deadline_at"] as const;
type MadeRow = Pick<RunRow, (typeof MADE)[number]>;

const inserted = ({ db, dialect }: Engine, { timeoutMs, ...row }: NewRow & Pick<RunRow, "status" | "fence">) =>
  db.insertInto("runs").values({
    claims: 0,
    crashes: 0,
    last_seq: 0,
    cancel_requested: 0,
    ...row,
    created_at: dialect.now,
    deadline_at: inMs({ dialect }, timeoutMs),
  });

/** A run that starts immediately is inserted with its lease, so that no other replica can claim it in between. */
const insertRunning = statement(({ leaseMs, ...row }: NewRow & { owner: string; leaseMs: number }, engine) => {
  const { now } = engine.dialect;
  const lease = { lease_until: inMs(engine, leaseMs), started_at: now };
  return inserted(engine, { ...row, ...lease, status: "running", fence: 1 }).returning(MADE);
});

const insertQueued = statement((row: NewRow, engine) =>
  inserted(engine, { ...row, status: "queued", fence: 0 }).returning(MADE),
);

const insertRefused = statement((row: NewRow & Pick<RunRow, "status" | "last_seq" | "result" | "ending">, engine) => {
  const end = { finished_at: engine.dialect.now, fence: 0 };
  return inserted(engine, { ...row, ...end });
});

async function touchSession({ db, dialect }: Engine, run: NewRun): Promise<void> {
  if (run.sessionId === undefined) return;
  const times = { created_at: dialect.now, last_seen_at: dialect.now };
  await db
    .insertInto("sessions")
    .values({ agent_id: run.agentId, id: run.sessionId, org_id: run.orgId, ...times })
    .onConflict((conflict) => conflict.columns(["agent_id", "id"]).doUpdateSet({ last_seen_at: dialect.now }))
    .execute();
}
