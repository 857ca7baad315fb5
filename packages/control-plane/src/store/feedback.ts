import type { RunFeedback } from "@patchbay/protocol/console";
import type { RunNotes } from "../ports/run-notes.ts";
import { fromJson, isoTime, toJson } from "./columns.ts";
import type { Engine } from "./engine.ts";

/** What readers of answers say about runs. */
export function feedbackStore({ db, dialect }: Engine): Pick<RunNotes, "recordFeedback" | "deleteFeedback"> {
  return {
    async recordFeedback({ runId, orgId, keyId }, { score, tags, comment }) {
      // As JSON: Postgres stores no NUL in texts.
      const said = {
        score: score ?? null,
        tags: tags ? toJson(tags) : null,
        comment: comment === undefined ? null : toJson(comment),
      };
      // Selected from the run: one that was erased meanwhile gets no feedback.
      const run = db
        .selectFrom("runs")
        .select(({ val, cast }) => [
          "runs.id",
          "runs.org_id",
          val(keyId).as("key_id"),
          cast<number | null>(val(said.score), "double precision").as("score"),
          cast<string | null>(val(said.tags), "text").as("tags"),
          cast<string | null>(val(said.comment), "text").as("comment"),
          dialect.now.as("created_at"),
        ])
        .where("runs.id", "=", runId)
        .where("runs.org_id", "=", orgId);
      await db
        .insertInto("feedback")
        .columns(["run_id", "org_id", "key_id", "score", "tags", "comment", "created_at"])
        .expression(run)
        .onConflict((conflict) =>
          conflict.columns(["run_id", "key_id"]).doUpdateSet(({ ref }) => ({
            score: ref("excluded.score"),
            tags: ref("excluded.tags"),
            comment: ref("excluded.comment"),
            created_at: ref("excluded.created_at"),
          })),
        )
        .execute();
    },

    async deleteFeedback({ runId, orgId, keyId }) {
      await db
        .deleteFrom("feedback")
        .where("run_id", "=", runId)
        .where("key_id", "=", keyId)
        .where("org_id", "=", orgId)
        .execute();
    },
  };
}

/** The feedback of a run, newest first. */
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
