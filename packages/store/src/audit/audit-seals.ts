import { sql } from "kysely";
import { unlimited } from "@patchbay/engine/ports/store/upkeep";
import type { AuditSealStore } from "@patchbay/engine/ports/store/audit-seals";
import { contentOf, digestOf, headOf, keptDigests, noChain } from "./audit-chain.ts";
import { noteHeads } from "./audit-heads.ts";
import { addUse, useOf } from "./audit-use.ts";
import { chainOf, chainRow, checkChain, hasSeals } from "./audit-check.ts";
import { type Engine, transact } from "../engine.ts";
import type { AuditChainRow } from "../tables/audit.ts";
import { type Pass, passOf } from "../pass.ts";
import { startOfDay } from "../moments.ts";
import { oldestFirst } from "../page-cursor.ts";
import { is } from "../statement.ts";

/** Entries per seal: hashing them takes some milliseconds, during which the event loop is busy. */
const ENTRIES = 500;
const ORGS = 100;
/** The database's clock may be set back by this much, as a time server does. */
const SETTLE_MS = 10_000;

export function auditSealStore(engine: Engine): AuditSealStore {
  return {
    seal: (options) => sealLog(engine, options),
    chain: (orgId) => chainOf(engine, orgId),
    check: (orgId) => checkChain(engine, orgId),
    noteHeads: () => noteHeads(engine),
    use: (agentId, since) => useOf(engine, agentId, since),
  };
}

async function sealLog(
  engine: Engine,
  { budget = unlimited, settleMs = SETTLE_MS, orgId, signal }: NonNullable<Parameters<AuditSealStore["seal"]>[0]> = {},
): Promise<number> {
  const settled = await settledTo(engine, settleMs);
  const pass = passOf("audit entries", budget, signal);
  if (orgId !== undefined) return sealOrg(engine, orgId, settled, pass);
  let sum = 0;
  const errors: unknown[] = [];
  const isOver = () => signal?.aborted === true;
  for (let after = ""; !isOver();) {
    const orgs = await unsealedOrgs(engine, settled, after);
    for (const id of orgs)
      // One changed chain must not keep the logs of other organisations unsealed.
      sum += await sealOrg(engine, id, settled, pass).catch((error: unknown) => (errors.push(error), 0));
    if (orgs.length < ORGS) break;
    after = orgs.at(-1)!;
  }
  if (errors.length > 0) throw new AggregateError(errors, "the audit log of some organisations could not be sealed");
  return sum;
}

/**
 * The time before which no further entry can appear: an entry has a time after its transaction's start, so entries in
 * open transactions have a later one. Read before the entries: what committed in between is then visible with them.
 */
export async function settledTo({ db, dialect }: Engine, settleMs = SETTLE_MS): Promise<number> {
  const { at, open } = await db
    .selectNoFrom([dialect.now.as("at"), dialect.oldestWriteMs.as("open")])
    .executeTakeFirstOrThrow();
  return at - Math.max(settleMs, open);
}

/** Organisations with unsealed entries. */
async function unsealedOrgs({ db }: Engine, settled: number, after: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select orgs.id from orgs left join audit_chains on audit_chains.org_id = orgs.id
    where orgs.id > ${after} and exists (
      select 1 from audit where audit.org_id = orgs.id and audit.created_at < ${settled}
        and audit.created_at >= coalesce(audit_chains.to_at, 0)
        and (audit.created_at > coalesce(audit_chains.to_at, 0) or audit.id > coalesce(audit_chains.to_id, '')))
    order by orgs.id limit ${ORGS}`.execute(db);
  return rows.map(({ id }) => id);
}

/** Seals batch after batch. Returns the number of entries. */
export async function sealOrg(
  engine: Engine,
  orgId: string,
  settled: number,
  { spend }: Pass = passOf("audit entries", unlimited),
): Promise<number> {
  for (let sum = 0; ;) {
    const sealed = await spend(() => sealSome(engine, orgId, settled));
    if (sealed === 0) return sum;
    sum += sealed;
  }
}

async function sealSome(engine: Engine, orgId: string, settled: number): Promise<number> {
  const known = await chainRow(engine, orgId);
  if (known === undefined && (await hasSeals(engine, orgId)))
    throw new Error(`the chain of ${orgId} was removed, and its seals are still there`);
  const chain = known ?? noChain(orgId);
  const unsealed = engine.db
    .selectFrom("audit")
    .selectAll()
    .where("org_id", "=", orgId)
    .where("created_at", "<", settled);
  const sealedTo = { at: chain.to_at, id: chain.to_id };
  const page = await oldestFirst(unsealed, sealedTo).limit(ENTRIES).execute();
  // A seal is within one day: retention deletes whole seals.
  const rows = page.filter(({ created_at }) => startOfDay(created_at) === startOfDay(page[0]!.created_at));
  const last = rows.at(-1);
  if (last === undefined) return 0;
  const digests = rows.map(digestOf);
  const about = {
    org_id: orgId,
    seq: chain.seq + 1,
    entries: rows.length,
    to_at: last.created_at,
    to_id: last.id,
    content: contentOf(digests),
  };
  const head = headOf(chain.head, about);
  const next = { seq: about.seq, head, to_at: about.to_at, to_id: about.to_id, entries: chain.entries + rows.length };
  const isStored = await transact(engine, async (trx) => {
    if (!(await moveChain(trx, chain, next))) return false;
    const seal = { ...about, head, digests: keptDigests(digests), sealed_at: trx.dialect.now };
    await trx.db.insertInto("audit_seals").values(seal).execute();
    await addUse(trx, rows);
    return true;
  });
  return isStored ? rows.length : 0;
}

type Moved = Pick<AuditChainRow, "seq" | "head" | "to_at" | "to_id" | "entries">;

/** False when another replica has added a seal since the chain was read: it seals the same entries. */
async function moveChain({ db }: Engine, chain: AuditChainRow, next: Moved): Promise<boolean> {
  const moved =
    chain.seq === 0
      ? await db
          .insertInto("audit_chains")
          .values({ ...chain, ...next })
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirst()
      : await db
          .updateTable("audit_chains")
          .set(next)
          .where(is({ org_id: chain.org_id, seq: chain.seq }))
          .executeTakeFirst();
  return ("numUpdatedRows" in moved ? moved.numUpdatedRows : moved.numInsertedOrUpdatedRows) === 1n;
}
