import type { ErrorReport } from "@patchbay/protocol";
import { sql } from "kysely";
import type { CallStore } from "@patchbay/engine/ports/store/call-store";
import { excluded, fromJson, toJson } from "../columns.ts";
import type { Engine } from "../engine.ts";
import { is } from "../statement.ts";

/** The errors that runtimes report for open calls. A redelivered result replaces the previous attempt's report. */
export function callErrors({ db }: Engine): Pick<CallStore, "recordError"> {
  return {
    async recordError({ agentId, instanceId, callId }, error) {
      await db
        .insertInto("call_errors")
        .columns(["run_id", "call_id", "org_id", "body"])
        .expression((eb) =>
          eb
            .selectFrom("calls")
            .innerJoin("runs", "runs.id", "calls.run_id")
            .select(["calls.run_id", "calls.id", "calls.org_id"])
            .select(sql<string>`cast(${toJson(error)} as text)`.as("body"))
            .where(is({ "calls.id": callId, "calls.instance_id": instanceId, "calls.outcome": null }))
            .where("runs.agent_id", "=", agentId),
        )
        .onConflict((conflict) => conflict.columns(["run_id", "call_id"]).doUpdateSet(excluded("body")))
        .execute();
    },
  };
}

/** The errors in a run's calls, by call. */
export async function errorsOf({ db }: Pick<Engine, "db">, runId: string): Promise<Map<string, ErrorReport>> {
  const rows = await db.selectFrom("call_errors").select(["call_id", "body"]).where("run_id", "=", runId).execute();
  return new Map(rows.map(({ call_id, body }) => [call_id, fromJson(body)]));
}
