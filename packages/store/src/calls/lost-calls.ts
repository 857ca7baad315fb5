import { sql, type SqlBool } from "kysely";
import type { Engine } from "../engine.ts";
import { isGone } from "../function-sets/connected.ts";
import { is } from "../statement.ts";

/** Makes waiting runs due whose detached calls were in a runtime that is gone, and releases the calls' permits. */
export async function wakeLost(engine: Engine): Promise<void> {
  const { urgent } = engine;
  const runtime = { agent: sql.ref("calls.agent_id"), instance: sql.ref("calls.instance_id") };
  const lost = sql<SqlBool>`runs_until is not null and ${isGone(engine, runtime)}`;
  await urgent
    .updateTable("runs")
    .set({ wake_at: 0 })
    .where("wake_at", ">", 0)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom("calls")
          .select("calls.id")
          .whereRef("calls.run_id", "=", "runs.id")
          .where(is({ "calls.outcome": null, "calls.arrived": null }))
          .where(lost),
      ),
    )
    .execute();
  await urgent
    .deleteFrom("permits")
    .where("call_id", "in", ({ selectFrom }) =>
      selectFrom("calls").select("calls.id").whereRef("calls.id", "=", "permits.call_id").where(lost),
    )
    .execute();
}
