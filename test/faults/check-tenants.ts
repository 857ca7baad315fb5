import type { Evidence } from "./check-runs.ts";

const OF_RUNS = ["run_events", "turns", "calls", "usage", "audit"];

/** I8: nothing of one organisation's is seen by another: no row, no event, no call and no result. */
export async function tenantFaults({ tables, notes, noted, lab }: Evidence): Promise<string[]> {
  const names = lab.allTenants.map(({ name }) => name);
  const others = new Map(names.map((name) => [name, names.filter((other) => other !== name)]));
  const faults: string[] = [];
  for (const { tenant, id, callId } of notes)
    if (!id.startsWith(`${tenant}.`)) faults.push(`a call reached another organisation's runtime: ${callId}`);
  for (const one of noted) {
    const text = one.kind === "event" ? one.data : one.kind === "answer" ? one.body : "";
    const tenant = one.query.slice(0, one.query.indexOf("."));
    const seen = others.get(tenant)?.find((other) => text.includes(`"${other}.`));
    if (seen !== undefined) faults.push(`a client saw what is another organisation's: ${one.query}`);
  }
  for (const table of OF_RUNS) {
    const rows = await tables.rows<{ id: string }>(
      `select runs.id from ${table} join runs on runs.id = ${table}.run_id where ${table}.org_id <> runs.org_id`,
    );
    faults.push(...rows.map(({ id }) => `a row of ${table} is another organisation's than its run's: ${id}`));
  }
  return faults;
}
