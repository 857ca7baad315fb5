import { timeText } from "@patchbay/kit";
import { sql } from "kysely";
import type { NotedHead } from "@patchbay/engine/ports/store/audit-seals";
import { excluded } from "../columns.ts";
import { type Engine, transact } from "../engine.ts";
import type { AuditHeadRow } from "../tables/audit.ts";
import { DAY_MS, nowOf } from "../moments.ts";
import { storeDeliveries } from "../webhooks.ts";

/** Organisations per transaction. */
const ORGS = 100;

/**
 * Implements `AuditSealStore.noteHeads`. The day's row is the claim: replicas that note at the same time wait for it,
 * and all but the first see today's row. A chain that became shorter is not noted, so that the longer head stays.
 */
export async function noteHeads(engine: Engine): Promise<NotedHead[]> {
  const day = Math.floor((await nowOf(engine)) / DAY_MS);
  const noted: NotedHead[] = [];
  for (let after = ""; ;) {
    const due = await dueHeads(engine, day, after);
    if (due.length > 0) noted.push(...(await noteSome(engine, due)));
    if (due.length < ORGS) return noted;
    after = due.at(-1)!.org_id;
  }
}

type DueHead = AuditHeadRow & { entries: number; to_at: number };

function dueHeads({ db }: Engine, day: number, after: string): Promise<DueHead[]> {
  return db
    .selectFrom("audit_chains")
    .leftJoin("audit_heads", "audit_heads.org_id", "audit_chains.org_id")
    .select(["audit_chains.org_id", "audit_chains.seq", "audit_chains.head", "audit_chains.entries", "to_at"])
    .select(sql.lit(day).as("day"))
    .where("audit_chains.org_id", ">", after)
    .where("audit_chains.seq", ">", 0)
    .where((eb) =>
      eb.or([
        eb("audit_heads.day", "is", null),
        eb.and([eb("audit_heads.day", "<>", day), eb("audit_heads.seq", "<=", eb.ref("audit_chains.seq"))]),
      ]),
    )
    .orderBy("audit_chains.org_id")
    .limit(ORGS)
    .execute();
}

function noteSome(engine: Engine, due: readonly DueHead[]): Promise<NotedHead[]> {
  return transact(engine, async (trx) => {
    const rows = due.map(({ org_id, day, seq, head }) => ({ org_id, day, seq, head }));
    const claimed = await trx.db
      .insertInto("audit_heads")
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .column("org_id")
          .doUpdateSet(excluded("day", "seq", "head"))
          .whereRef("audit_heads.day", "<>", "excluded.day"),
      )
      .returning("org_id")
      .execute();
    const mine = new Set(claimed.map(({ org_id }) => org_id));
    const noted = due
      .filter(({ org_id }) => mine.has(org_id))
      .map(({ org_id: orgId, seq, head, entries, to_at }) => ({
        orgId,
        head: `${seq}:${head}`,
        entries,
        sealedTo: timeText(to_at),
      }));
    for (const { orgId, ...data } of noted) {
      const webhooks = await trx.db.selectFrom("webhooks").select("agent_id").where("org_id", "=", orgId).execute();
      for (const { agent_id: agentId } of webhooks)
        await storeDeliveries(trx, { agentId }, [{ type: "audit.head", data }]);
    }
    return noted;
  });
}
