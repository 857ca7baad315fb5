import { isoTime } from "@patchbay/kit";
import type { RunFeedback } from "@patchbay/protocol/console";
import { sql } from "kysely";
import type { RunNotes } from "@patchbay/engine/ports/store/run-notes";
import { excluded, fromJson, selected, toJson } from "../columns.ts";
import type { Engine } from "../engine.ts";
import { IDEMPOTENCY_MS } from "./idempotency-keys.ts";
import { ago } from "../moments.ts";
import { is } from "../statement.ts";
import { visibleRuns } from "../threads/visible.ts";

/** Notes about runs, outside their logs. */
export function runNotes(engine: Engine): Omit<RunNotes, "recordSegment"> {
  return {
    ...feedback(engine),
    ...detachedRuns(engine),
    async recordRerun({ originId, runId, orgId }) {
      const added = engine.db.insertInto("reruns").values({ run_id: runId, origin_id: originId, org_id: orgId });
      await added.onConflict((conflict) => conflict.column("run_id").doNothing()).execute();
    },
  };
}

/** Runs whose outcome their client has not received yet. */
function detachedRuns({ db, dialect }: Engine) {
  return {
    async detach({ agentId, runId }, name) {
      await db
        .updateTable("runs")
        .set({ left_as: name })
        .where(is({ id: runId, agent_id: agentId }))
        .execute();
    },

    async reattach(agentId, name, visibleTo = {}) {
      for (;;) {
        const next = await db
          .selectFrom("runs")
          .select("id")
          .where(is({ agent_id: agentId, left_as: name }))
          .where((eb) => visibleRuns(eb, visibleTo))
          .where("status", "<>", "cancelled")
          .where("cancel_requested", "=", 0)
          .where((eb) =>
            eb.or([eb("finished_at", "is", null), eb("finished_at", ">", ago({ dialect }, IDEMPOTENCY_MS))]),
          )
          .orderBy((eb) => eb.case().when("status", "=", "waiting").then(1).else(0).end())
          .orderBy("id")
          .limit(1)
          .executeTakeFirst();
        if (!next) return undefined;
        const taken = await db
          .updateTable("runs")
          .set({ left_as: null })
          .where(is({ id: next.id, left_as: name }))
          .returning("thread_id")
          .executeTakeFirst();
        // Otherwise another request has taken it meanwhile.
        if (taken) return { runId: next.id, agentId, threadId: taken.thread_id };
      }
    },
  } satisfies Partial<RunNotes>;
}

/** Feedback on runs from readers of their answers. */
function feedback({ db, dialect }: Engine) {
  return {
    async recordFeedback({ runId, orgId, keyId }, { score, tags, comment }) {
      // As JSON: Postgres stores no NUL in texts.
      const { columns, selections } = selected({
        run_id: sql.ref("runs.id"),
        org_id: sql.ref("runs.org_id"),
        key_id: sql`cast(${keyId} as text)`,
        score: sql`cast(${score ?? null} as double precision)`,
        tags: sql`cast(${tags ? toJson(tags) : null} as text)`,
        comment: sql`cast(${comment === undefined ? null : toJson(comment)} as text)`,
        created_at: dialect.now,
      });
      // Selected from the run, so that a run erased meanwhile gets no feedback.
      await db
        .insertInto("feedback")
        .columns(columns)
        .expression((eb) =>
          eb.selectFrom("runs").select(selections).where("runs.id", "=", runId).where("runs.org_id", "=", orgId),
        )
        .onConflict((conflict) =>
          conflict.columns(["run_id", "key_id"]).doUpdateSet(excluded("score", "tags", "comment", "created_at")),
        )
        .execute();
    },

    async deleteFeedback({ runId, orgId, keyId }) {
      await db
        .deleteFrom("feedback")
        .where(is({ run_id: runId, key_id: keyId, org_id: orgId }))
        .execute();
    },
  } satisfies Partial<RunNotes>;
}

/** A run's feedback, newest first. */
export async function feedbackOf({ db }: Pick<Engine, "db">, runId: string): Promise<RunFeedback[]> {
  const rows = await db
    .selectFrom("feedback")
    .leftJoin("members", "members.id", "feedback.key_id")
    .leftJoin("credentials", "credentials.id", "feedback.key_id")
    .selectAll("feedback")
    .select(["members.name", "members.email", "credentials.label", "credentials.hint"])
    .where("feedback.run_id", "=", runId)
    .orderBy("feedback.created_at", "desc")
    .orderBy("feedback.key_id")
    .execute();
  return rows.map((row) => ({
    keyId: row.key_id,
    name: row.name || (row.email ?? row.label ?? row.hint),
    score: row.score,
    tags: row.tags === null ? [] : fromJson(row.tags),
    comment: row.comment === null ? null : fromJson(row.comment),
    at: isoTime(row.created_at),
  }));
}

/** Repetitions per run that a page shows. */
const SHOWN = 20;

/** Ids of this run's repetitions, newest first. */
export async function rerunsOf({ db }: Pick<Engine, "db">, originId: string): Promise<string[]> {
  const rows = await db
    .selectFrom("reruns")
    .select("run_id")
    .where("origin_id", "=", originId)
    .orderBy("run_id", "desc")
    .limit(SHOWN)
    .execute();
  return rows.map(({ run_id }) => run_id);
}
