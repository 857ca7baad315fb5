import type { RunNotes } from "@patchbay/engine/ports/store/run-notes";
import type { Engine } from "../engine.ts";
import { ago } from "../moments.ts";
import { IDEMPOTENCY_MS } from "./idempotency-keys.ts";
import { visibleRuns } from "../threads/visible.ts";
import { is } from "../statement.ts";

/** Runs whose outcome their client has not received yet. */
export function detachedRuns({ db, dialect }: Engine): Pick<RunNotes, "detach" | "reattach"> {
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
  };
}
