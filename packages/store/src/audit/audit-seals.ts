import { timeText } from "@patchbay/kit";
import { sql } from "kysely";
import { unlimited } from "@patchbay/engine/ports/store/upkeep";
import type { AuditSealStore, NotedHead } from "@patchbay/engine/ports/store/audit-seals";
import { contentOf, digestOf, headOf, keptDigests, noChain } from "./audit-chain.ts";
import { addUse, useOf } from "./audit-use.ts";
import { chainOf, chainRow, checkChain, hasSeals } from "./audit-check.ts";
import { excluded } from "../columns.ts";
import { type Engine, transact } from "../engine.ts";
import type { AuditChainRow, AuditHeadRow } from "../tables/audit.ts";
import { type Pass, passOf } from "../pass.ts";
import { DAY_MS, nowOf, startOfDay } from "../moments.ts";
import { oldestFirst } from "../page-cursor.ts";
import { is } from "../statement.ts";
import { storeDeliveries } from "../webhooks.ts";

/** Entries per seal: hashing them takes some milliseconds, during which the event loop is busy. */
const ENTRIES = 500;
/** Organisations per statement or transaction. */
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

/**
 * Implements `AuditSealStore.noteHeads`. The day's row is the claim: replicas that note at the same time wait for it,
 * and all but the first see today's row. A chain that became shorter is not noted, so that the longer head stays.
 */
async function noteHeads(engine: Engine): Promise<NotedHead[]> {
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
