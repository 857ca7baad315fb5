import type { Evidence } from "./check-runs.ts";

/** Queries that must find nothing, by what it means when they do. */
const NOTHING = {
  "a turn was not charged": "select run_id, step from turns except select run_id, step from usage",
  "usage without a turn": "select run_id, step from usage except select run_id, step from turns",
  "a run's usage has gaps":
    "select run_id, count(*) as step from usage group by run_id having count(*) <> max(step) + 1",
  "a balance is not its ledger's sum": `select id as run_id, balance_micros as step from orgs where balance_micros < 0
    or balance_micros <> (select coalesce(sum(micros), 0) from ledger where org_id = orgs.id)`,
  "a hold was left open": `select run_id, step from ledger where kind = 'hold'
    except select run_id, step from ledger where kind in ('settle', 'release')`,
};

/** I7: each turn is charged once, and each ledger adds up to its balance, which is never below 0. */
export async function accountFaults({ tables }: Evidence): Promise<string[]> {
  const faults: string[] = [];
  for (const [meaning, sql] of Object.entries(NOTHING)) {
    const rows = await tables.rows<{ run_id: string; step: number }>(sql);
    faults.push(...rows.map(({ run_id, step }) => `${meaning}: ${run_id} ${step}`));
  }
  return faults;
}
