import type { RunNotes } from "@patchbay/engine/ports/store/run-notes";
import type { Engine } from "../engine.ts";

/** The repetitions of runs. */
export function rerunStore({ db }: Engine): Pick<RunNotes, "recordRerun"> {
  return {
    async recordRerun({ originId, runId, orgId }) {
      const added = db.insertInto("reruns").values({ run_id: runId, origin_id: originId, org_id: orgId });
      await added.onConflict((conflict) => conflict.column("run_id").doNothing()).execute();
    },
  };
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
