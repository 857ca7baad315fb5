import { sql } from "kysely";
import type { UseOfFunction } from "@patchbay/engine/ports/store/audit-seals";
import type { Engine } from "../engine.ts";
import type { AuditTableRow, AuditUseRow } from "../tables/audit.ts";
import { insertion } from "../statement.ts";
import { startOfDay } from "../moments.ts";

/** The outcome for calls that passed the gate, even if they failed. */
const CALLED = "called";

function outcomeOf({ action, rule }: AuditTableRow): string | undefined {
  if (action === "call.succeeded" || action === "call.failed") return CALLED;
  return action === "call.denied" ? (rule ?? "denied") : undefined;
}

/** As `outcomeOf`. */
const OUTCOME = sql`case when audit.action = 'call.denied' then coalesce(audit.rule, 'denied') else ${sql.lit(CALLED)} end`;

/** Adds entries to the daily sums, in the transaction that seals them: each entry is counted once. */
export async function addUse(trx: Engine, rows: readonly AuditTableRow[]): Promise<void> {
  const sums = new Map<string, AuditUseRow>();
  for (const row of rows) {
    const outcome = outcomeOf(row);
    if (outcome === undefined || row.agent_id === null || row.function_name === null) continue;
    const { org_id, agent_id, function_name, created_at } = row;
    const about = { org_id, agent_id, day: startOfDay(created_at), function_name, role: row.role ?? "", outcome };
    const key = JSON.stringify(Object.values(about));
    const sum = sums.get(key);
    sums.set(key, { ...about, calls: (sum?.calls ?? 0) + 1, last_at: Math.max(sum?.last_at ?? 0, created_at) });
  }
  await insertSums(trx, [...sums.values()]);
}

const insertSums = insertion<AuditUseRow>((rows, { db }) =>
  db
    .insertInto("audit_use")
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(["agent_id", "day", "function_name", "role", "outcome"]).doUpdateSet((eb) => ({
        calls: eb("audit_use.calls", "+", eb.ref("excluded.calls")),
        // Batches are sealed in time order.
        last_at: eb.ref("excluded.last_at"),
      })),
    ),
);

/** The sums and the unsealed entries in one statement: none is counted twice when a batch is sealed meanwhile. */
export async function useOf({ reads }: Engine, agentId: string, since: number): Promise<UseOfFunction[]> {
  const first = startOfDay(since);
  const { rows } = await sql<Omit<UseOfFunction, "role"> & { role: string }>`
    with chain as (
      select agents.org_id, coalesce(audit_chains.to_at, 0) as to_at, coalesce(audit_chains.to_id, '') as to_id
      from agents left join audit_chains on audit_chains.org_id = agents.org_id where agents.id = ${agentId}
    ),
    used as (
      select function_name, role, outcome, last_at, calls, case when day >= ${first} then calls else 0 end as within
      from audit_use where agent_id = ${agentId}
      union all
      select audit.function_name, coalesce(audit.role, ''), ${OUTCOME}, audit.created_at, 1,
        case when audit.created_at >= ${first} then 1 else 0 end
      from chain join audit on audit.agent_id = ${agentId} and audit.created_at >= chain.to_at
      where (audit.created_at > chain.to_at or audit.id > chain.to_id)
        and audit.action in ('call.succeeded', 'call.failed', 'call.denied') and audit.function_name is not null
    )
    select function_name as "functionName", role, outcome, cast(sum(within) as bigint) as "calls",
      cast(sum(calls) as bigint) as "allCalls", max(last_at) as "lastAt"
    from used group by function_name, role, outcome`.execute(reads);
  return rows.map((row) => ({ ...row, role: row.role === "" ? null : row.role }));
}
