import { isoTime } from "@patchbay/kit";
import type { RunFeedback } from "@patchbay/protocol/console";
import { sql } from "kysely";
import type { RunNotes } from "@patchbay/engine/ports/store/run-notes";
import { excluded, fromJson, selected, toJson } from "../columns.ts";
import type { Engine } from "../engine.ts";
import { is } from "../statement.ts";

/** Feedback on runs from readers of their answers. */
export function feedbackStore({ db, dialect }: Engine): Pick<RunNotes, "recordFeedback" | "deleteFeedback"> {
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
  };
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
