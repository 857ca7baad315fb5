import { sealOrg } from "../audit-seals.ts";
import { type Engine, repeat, transact } from "../engine.ts";
import type { AuditSealRow } from "../schema-of-audit.ts";
import { BATCH, DAY_MS, forEachOrg, inFull } from "./batches.ts";

/**
 * Deletes audit entries that are older than `days`, seal by seal. The chain keeps the head of the last deleted seal, from which the
 * later ones follow. Entries that are not sealed yet are sealed first: their hashes show afterwards that they existed.
 */
export async function sweepAudit(engine: Engine, days: number, signal: AbortSignal | undefined): Promise<void> {
  const { db, dialect } = engine;
  const { now } = await db.selectNoFrom(dialect.now.as("now")).executeTakeFirstOrThrow();
  const cutoff = now - days * DAY_MS;
  const errors: unknown[] = [];
  await forEachOrg(engine, signal, async (orgId) => {
    try {
      await sealOrg(engine, orgId, cutoff, () => signal?.aborted === true);
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
    if (last !== undefined) await forget(engine, last);
    await deleteForgotten(engine, orgId, signal);
    await db
      .deleteFrom("audit_use")
      .where("org_id", "=", orgId)
      .where("day", "<", cutoff - (cutoff % DAY_MS))
      .execute();
  });
  if (errors.length > 0) throw new AggregateError(errors, "the audit log of some organisations could not be sealed");
}

/** Makes the chain begin after a seal. Its entries are deleted afterwards, in batches: a check ignores them from now on. */
async function forget(engine: Engine, seal: AuditSealRow): Promise<void> {
  const { org_id: orgId, seq } = seal;
  await transact(engine, async ({ db }) => {
    const { sum } = await db
      .selectFrom("audit_seals")
      .select((eb) => eb.fn.sum<number>("entries").as("sum"))
      .where("org_id", "=", orgId)
      .where("seq", "<=", seq)
      .executeTakeFirstOrThrow();
    const moved = await db
      .updateTable("audit_chains")
      .set((eb) => ({
        base_seq: seq,
        base_head: seal.head,
        base_at: seal.to_at,
        base_id: seal.to_id,
        base_entries: eb("base_entries", "+", sum),
      }))
      .where("org_id", "=", orgId)
      .where("base_seq", "<", seq)
      .executeTakeFirst();
    // Another replica was faster, and has counted these seals.
    if (moved.numUpdatedRows === 0n) return;
    await db.deleteFrom("audit_seals").where("org_id", "=", orgId).where("seq", "<=", seq).execute();
  });
}

async function deleteForgotten(engine: Engine, orgId: string, signal: AbortSignal | undefined): Promise<void> {
  const { db } = engine;
  const chain = await db.selectFrom("audit_chains").selectAll().where("org_id", "=", orgId).executeTakeFirst();
  if (chain === undefined || chain.base_seq === 0) return;
  const { base_at: at, base_id: id } = chain;
  const old = db
    .selectFrom("audit")
    .select("id")
    .where("org_id", "=", orgId)
    .where("created_at", "<=", at)
    .where((eb) => eb.or([eb("created_at", "<", at), eb("id", "<=", id)]))
    .orderBy("created_at")
    .limit(BATCH);
  await inFull(BATCH, signal, async () => {
    const entries = db.deleteFrom("audit").where("id", "in", old).returning("id");
    return (await repeat(engine, () => entries.execute())).length;
  });
}
