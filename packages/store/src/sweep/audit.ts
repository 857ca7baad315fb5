import { sql } from "kysely";
import { insertAudit } from "../audit/audit.ts";
import { DELETED, detailOf } from "../audit/audit-deletions.ts";
import { sealOrg } from "../audit/audit-seals.ts";
import { type Engine, transact } from "../engine.ts";
import { DAY_MS, nowOf, startOfDay } from "../moments.ts";
import { once, type Pass } from "../pass.ts";
import type { AuditSealRow } from "../tables/audit.ts";
import { deleteOld, forEachOrg } from "./batches.ts";
import { is } from "../statement.ts";

/**
 * Deletes audit entries that are older than `days`, seal by seal. The chain keeps the last deleted seal's head, from
 * which the later ones follow. Unsealed entries are sealed first: their hashes show afterwards that they existed.
 */
export async function sweepAudit(engine: Engine, days: number, pass: Pass): Promise<void> {
  const { db } = engine;
  const cutoff = (await nowOf(engine)) - days * DAY_MS;
  const errors: unknown[] = [];
  await forEachOrg(engine, pass, async (orgId) => {
    try {
      await sealOrg(engine, orgId, cutoff, pass);
    } catch (error) {
      errors.push(error);
      return;
    }
    const last = await db
      .selectFrom("audit_seals")
      .selectAll()
      .where("org_id", "=", orgId)
      .where("to_at", "<", cutoff)
      .orderBy("seq", "desc")
      .limit(1)
      .executeTakeFirst();
    if (last !== undefined && (await hasOthers(engine, last))) await forget(engine, last, days);
    await deleteForgotten(engine, orgId, pass);
    await once(pass, () =>
      db.deleteFrom("audit_use").where("org_id", "=", orgId).where("day", "<", startOfDay(cutoff)).execute(),
    );
  });
  if (errors.length > 0) throw new AggregateError(errors, "the audit log of some organisations could not be sealed");
}

/**
 * True if a deletion up to a seal would delete entries other than those about earlier deletions. These stay until then:
 * an idle organisation would otherwise get another one for each, without end.
 */
async function hasOthers({ db }: Engine, { org_id, to_at }: AuditSealRow): Promise<boolean> {
  const other = await db
    .selectFrom("audit")
    .select("id")
    .where("org_id", "=", org_id)
    .where("created_at", "<=", to_at)
    .where("action", "<>", DELETED)
    .limit(1)
    .executeTakeFirst();
  return other !== undefined;
}

/**
 * Moves the chain's start to after a seal, and records this as an entry. Earlier entries are deleted afterwards, in
 * batches: a check ignores them from now on.
 */
async function forget(engine: Engine, seal: AuditSealRow, days: number): Promise<void> {
  const { org_id: orgId, seq } = seal;
  await transact(engine, async (trx) => {
    const seals = trx.db.selectFrom("audit_seals").where("org_id", "=", orgId).where("seq", "<=", seq);
    const base = await trx.db
      .selectFrom("audit_chains")
      .select(["base_seq", "base_head", "base_entries"])
      .where("org_id", "=", orgId)
      .executeTakeFirstOrThrow();
    if (base.base_seq >= seq) return;
    const deleted = await seals.select(["seq", "head", "entries"]).where("seq", ">", base.base_seq).execute();
    const entries = deleted.reduce((sum, one) => sum + one.entries, 0);
    const total = base.base_entries + entries;
    const moved = await trx.db
      .updateTable("audit_chains")
      .set({ base_seq: seq, base_head: seal.head, base_at: seal.to_at, base_id: seal.to_id, base_entries: total })
      .where(is({ org_id: orgId, base_seq: base.base_seq }))
      .executeTakeFirst();
    // Another replica was faster, and has counted some of these seals.
    if (moved.numUpdatedRows === 0n) return;
    const before = deleted.find((one) => one.seq === seq - 1)?.head ?? base.base_head;
    const detail = detailOf(seal, { entries, total, days, before });
    await insertAudit(trx, [{ orgId, action: "audit.deleted", detail }]);
    await trx.db.deleteFrom("audit_seals").where("org_id", "=", orgId).where("seq", "<=", seq).execute();
  });
}

async function deleteForgotten(engine: Engine, orgId: string, pass: Pass): Promise<void> {
  const chain = await engine.db.selectFrom("audit_chains").selectAll().where("org_id", "=", orgId).executeTakeFirst();
  if (chain === undefined || chain.base_seq === 0) return;
  const { base_at: at, base_id: id } = chain;
  const entries = { table: "audit", key: ["id"], by: "created_at" } as const;
  const isDeleted = sql`org_id = ${orgId} and created_at <= ${at} and (created_at < ${at} or id <= ${id})`;
  await deleteOld(engine, pass, entries, isDeleted);
}
