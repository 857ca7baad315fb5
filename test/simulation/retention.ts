import { unlimited } from "@patchbay/engine/ports/store/upkeep";
import { violations } from "@patchbay/store/proof/violations";
import { createRandom } from "@patchbay/test-support/random";
import type { Cluster } from "./cluster.ts";

const DAY_MS = 86_400_000;
const RETENTION = { days: 30, auditDays: 365, usageDays: 90 };
/** Days after the simulation on which a replica sweeps: runs are deleted, then amounts condensed, then the audit log deleted. */
const SWEEPS = [31, 91, 366];
/** One simulation in this many lasts a year. */
const RARITY = 10;

/** What retention leaves that it must not, or deletes too early. Each sweep is interrupted once. */
export async function retentionViolations({ world, store, plan }: Cluster): Promise<string[]> {
  const random = createRandom(plan.seed, 2);
  if (!random.chance(1 / RARITY)) return [];
  const found: string[] = [];
  const { machine } = world;
  let day = 0;
  for (const next of SWEEPS) {
    machine.clock.offsetMs += (next - day) * DAY_MS;
    day = next;
    const interrupted = new AbortController();
    let batches = random.below(30);
    const budget = {
      async spend(kind: string, batch: () => Promise<number>): Promise<number> {
        if (batches-- === 0) interrupted.abort();
        return await unlimited.spend(kind, batch);
      },
    };
    await store.sweep(RETENTION, { budget, signal: interrupted.signal });
    await store.sweep(RETENTION, { budget: unlimited });
    await store.audit.seal({ settleMs: 0 });
    const rows = async (table: "runs" | "run_events" | "calls" | "approvals" | "audit"): Promise<number> =>
      (await store.engine.db.selectFrom(table).select("org_id").execute()).length;
    for (const table of ["runs", "run_events", "calls", "approvals"] as const)
      if ((await rows(table)) > 0) found.push(`day ${day}: rows of ${table} are left`);
    if (day < RETENTION.auditDays && (await rows("audit")) === 0) found.push(`day ${day}: the audit log is empty`);
    for (const { invariant, expected, found: value } of (await violations(store)).violations)
      found.push(`day ${day}: ${invariant}: ${expected}, found ${value}`);
  }
  return found;
}
