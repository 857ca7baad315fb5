import { sql, type Transaction } from "kysely";
import type { CallRecord } from "../ports/records.ts";
import { LeaseLost, type Lease, type RunCommit, type RunStore, type StoredEvent } from "../ports/run-store.ts";
import { insertAudit } from "./audit.ts";
import { present, toJson } from "./columns.ts";
import { releaseHolds, settleHold } from "./credits.ts";
import { inBatches } from "./in-batches.ts";
import type { Engine, Schema } from "./schema.ts";

type Trx = Transaction<Schema>;
/** Whose rows a commit writes. */
interface Owner {
  runId: string;
  orgId: string;
  agentId: string;
}

/** How a run goes one step forward. */
export function runCommits(engine: Engine): Pick<RunStore, "commit"> {
  return {
    async commit(lease, change) {
      await engine.db.transaction().execute(async (trx) => {
        const run = await advance(engine, trx, lease, change);
        if (change.events?.length) await insertEvents(engine, trx, run, change.events);
        if (change.turn) await insertTurn(engine, trx, run, change.turn);
        if (change.calls?.length) await putCalls(engine, trx, run, change.calls);
        if (change.finish) await afterFinish(engine, trx, run, change.finish);
        if (change.audit?.length) await insertAudit(engine, trx, change.audit, run);
      });
    },
  };
}

/** Moves the run's row on, which the fence may forbid: this goes first, so that nothing else of a lost run is tried. */
async function advance({ dialect }: Engine, trx: Trx, lease: Lease, { events = [], finish }: RunCommit) {
  const ended = finish && {
    status: finish.status,
    finished_at: dialect.now,
    result: finish.result ? toJson(finish.result) : null,
    history: toJson(finish.history),
    owner: null,
    lease_until: null,
  };
  const row = await trx
    .updateTable("runs")
    .set((eb) => ({ claims: 0, last_seq: eb("last_seq", "+", events.length), ...ended }))
    .where("id", "=", lease.runId)
    .where("fence", "=", lease.fence)
    .where("status", "=", "running")
    .returning(["org_id", "agent_id", "thread_id", "key_id", "role", "last_seq"])
    .executeTakeFirst();
  if (!row) throw new LeaseLost(`run ${lease.runId} is no longer owned under fence ${lease.fence}`);
  checkSequence(events, row.last_seq - events.length);
  return {
    runId: lease.runId,
    orgId: row.org_id,
    agentId: row.agent_id,
    threadId: row.thread_id,
    keyId: row.key_id,
    ...present({ role: row.role }),
  };
}

function checkSequence(events: readonly StoredEvent[], stored: number): void {
  for (const [index, { seq }] of events.entries()) {
    if (seq !== stored + index + 1) throw new Error(`event ${seq} would follow event ${stored + index}`);
  }
}

export async function insertEvents(
  { dialect }: Engine,
  trx: Trx,
  { runId, orgId }: Pick<Owner, "runId" | "orgId">,
  events: readonly StoredEvent[],
): Promise<void> {
  const rows = events.map(({ seq, body }) => ({ run_id: runId, seq, org_id: orgId, body, created_at: dialect.now }));
  await inBatches(rows, (batch) => trx.insertInto("run_events").values(batch).execute());
}

async function insertTurn(engine: Engine, trx: Trx, run: Owner, turn: NonNullable<RunCommit["turn"]>): Promise<void> {
  const key = { run_id: run.runId, step: turn.step, org_id: run.orgId };
  const spending = {
    input_tokens: turn.usage.input,
    cached_input_tokens: turn.usage.cachedInput,
    output_tokens: turn.usage.output,
    cost_micros: turn.costMicros,
    created_at: engine.dialect.now,
  };
  const kept = { messages: toJson(turn.messages), warnings: toJson(turn.warnings) };
  await trx
    .insertInto("turns")
    .values({ ...key, ...kept, ...spending })
    .execute();
  const billed = { agent_id: run.agentId, provider: turn.provider, model: turn.model };
  await trx
    .insertInto("usage")
    .values({ ...key, ...billed, ...spending })
    .execute();
  if (turn.heldMicros > 0) await settleHold(engine, trx, { ...run, step: turn.step, costMicros: turn.costMicros });
}

async function putCalls({ dialect }: Engine, trx: Trx, run: Owner, calls: readonly CallRecord[]): Promise<void> {
  const rows = calls.map((call) => ({
    id: call.callId,
    run_id: run.runId,
    org_id: run.orgId,
    step: call.step,
    position: call.position,
    model_call_id: call.modelCallId,
    function_name: call.functionName,
    arguments: toJson(call.arguments),
    instance_id: call.instanceId ?? null,
    attempt: call.attempt,
    outcome: call.outcome ? toJson(call.outcome) : null,
    created_at: dialect.now,
    finished_at: call.outcome ? dialect.now : null,
  }));
  await inBatches(rows, (batch) =>
    trx
      .insertInto("calls")
      .values(batch)
      .onConflict((conflict) =>
        conflict
          .column("id")
          .doUpdateSet((eb) => ({
            arguments: eb.ref("excluded.arguments"),
            instance_id: eb.ref("excluded.instance_id"),
            attempt: eb.ref("excluded.attempt"),
            outcome: eb.ref("excluded.outcome"),
            finished_at: eb.ref("excluded.finished_at"),
          }))
          .where(sql.ref("calls.run_id"), "=", run.runId),
      )
      .execute(),
  );
}

async function afterFinish(
  engine: Engine,
  trx: Trx,
  run: Owner & { threadId: string },
  finish: NonNullable<RunCommit["finish"]>,
): Promise<void> {
  await releaseHolds(engine, trx, run);
  const touched = { updated_at: engine.dialect.now };
  await trx.updateTable("threads").set(touched).where("id", "=", run.threadId).execute();
  if (finish.releaseIdempotencyKey) await trx.deleteFrom("idempotency_keys").where("run_id", "=", run.runId).execute();
}
