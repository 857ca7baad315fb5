import type { Engine } from "../schema.ts";
import { NO_ROLE } from "../thread-roles.ts";
import { repeat } from "../transact.ts";
import { ago, BATCH, DAY_MS, eachPage, forEachAgent, forEachOrg, inFull, newerThan } from "./batches.ts";

/** A run takes its events, turns and calls with it, some tens of rows. */
const RUNS_AT_ONCE = 20;

/** Runs that ended more than `days` ago. */
export function sweepRuns(engine: Engine, days: number, signal: AbortSignal | undefined): Promise<number> {
  return inFull(RUNS_AT_ONCE, signal, () => repeat(engine, () => sweepSomeRuns(engine, days)));
}

async function sweepSomeRuns(engine: Engine, days: number): Promise<number> {
  const { db, dialect } = engine;
  const ended = db
    .selectFrom("runs")
    .select("id")
    .where("finished_at", "<", ago(engine, days * DAY_MS))
    .orderBy("finished_at")
    .limit(RUNS_AT_ONCE);
  const deleted = await db
    .with(
      (cte) => cte("ended").materialized(),
      () => dialect.lockForClaim(ended),
    )
    .deleteFrom("runs")
    .where("id", "in", (eb) => eb.selectFrom("ended").select("ended.id"))
    .returning("thread_id")
    .execute();
  if (deleted.length > 0) await sweepRoles(engine, days, [...new Set(deleted.map(({ thread_id }) => thread_id))]);
  return deleted.length;
}

/** Roles of which these threads have no runs any more. One that a run just began under is newer. */
async function sweepRoles(engine: Engine, days: number, threadIds: string[]): Promise<void> {
  await engine.db
    .deleteFrom("thread_roles")
    .where("thread_id", "in", threadIds)
    .where("updated_at", "<", ago(engine, days * DAY_MS))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("runs")
            .select("runs.id")
            .whereRef("runs.thread_id", "=", "thread_roles.thread_id")
            .where((eb) => eb(eb.fn.coalesce("runs.role", eb.val(NO_ROLE)), "=", eb.ref("thread_roles.role"))),
        ),
      ),
    )
    .execute();
}

/** Entries of runs by agent and the others by organisation, since indexes hold those in the order of time. */
export async function sweepAudit(engine: Engine, days: number, signal: AbortSignal | undefined): Promise<void> {
  const { db } = engine;
  const old = db
    .selectFrom("audit")
    .select("id")
    .where("created_at", "<", ago(engine, days * DAY_MS))
    .orderBy("created_at")
    .limit(BATCH);
  const sweep = (some: typeof old) =>
    inFull(BATCH, signal, async () => {
      const entries = db.deleteFrom("audit").where("id", "in", some).returning("id");
      return (await repeat(engine, () => entries.execute())).length;
    });
  await forEachAgent(engine, signal, ({ id }) => sweep(old.where("agent_id", "=", id)));
  await forEachOrg(engine, signal, (id) => sweep(old.where("org_id", "=", id).where("run_id", "is", null)));
}

/** Threads that are old and have no runs, page by page: a run that never ended keeps its thread. */
export async function sweepThreads(engine: Engine, days: number, signal: AbortSignal | undefined): Promise<void> {
  const { db } = engine;
  const cutoff = ago(engine, days * DAY_MS);
  const emptyOf = (ids: string[]) =>
    db
      .deleteFrom("threads")
      .where("id", "in", ids)
      .where("updated_at", "<", cutoff)
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom("runs").select("runs.id").whereRef("runs.thread_id", "=", "threads.id"))),
      );
  await forEachAgent(engine, signal, ({ id: agentId }) =>
    eachPage(signal, async (after) => {
      const page = await db
        .selectFrom("threads")
        .select(["updated_at as at", "id"])
        .where("agent_id", "=", agentId)
        .where("updated_at", "<", cutoff)
        .$if(after !== undefined, (next) => next.where(newerThan(after!, { at: "updated_at", id: "id" })))
        .orderBy("updated_at")
        .orderBy("id")
        .limit(BATCH)
        .execute();
      const ids = page.map(({ id }) => id);
      if (ids.length > 0) await repeat(engine, () => emptyOf(ids).execute());
      return page;
    }),
  );
}
