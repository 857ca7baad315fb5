import { sql } from "kysely";
import type { RunNotes } from "../ports/run-notes.ts";
import type { Engine } from "./engine.ts";
import { IDEMPOTENCY_MS } from "./idempotency-keys.ts";

/** Runs whose outcome their client did not get yet. */
export function leftRuns({ db, dialect }: Engine): Pick<RunNotes, "leave" | "takeLeft"> {
  return {
    async leave({ agentId, runId }, name) {
      await db
        .updateTable("runs")
        .set({ left_as: name })
        .where("id", "=", runId)
        .where("agent_id", "=", agentId)
        .execute();
    },

    async takeLeft(agentId, name) {
      for (;;) {
        const next = await db
          .selectFrom("runs")
          .select("id")
          .where("agent_id", "=", agentId)
          .where("left_as", "=", name)
          .where("status", "<>", "cancelled")
          .where("cancel_requested", "=", 0)
          .where((eb) =>
            eb.or([
              eb("finished_at", "is", null),
              eb("finished_at", ">", sql<number>`${dialect.now} - ${sql.lit(IDEMPOTENCY_MS)}`),
            ]),
          )
          .orderBy((eb) => eb.case().when("status", "=", "waiting").then(1).else(0).end())
          .orderBy("id")
          .limit(1)
          .executeTakeFirst();
        if (!next) return undefined;
        const taken = await db
          .updateTable("runs")
          .set({ left_as: null })
          .where("id", "=", next.id)
          .where("left_as", "=", name)
          .returning("thread_id")
          .executeTakeFirst();
        // Else another request has taken it meanwhile.
        if (taken) return { runId: next.id, agentId, threadId: taken.thread_id };
      }
    },
  };
}
