import { timeText } from "@patchbay/kit";
import type { AuditChain, AuditSealStore, ChainEnd, CheckedSeal } from "@patchbay/engine/ports/store/audit-seals";
import { auditLine, digestOf, type DigestedEntry, faultsOf, headOf, noChain } from "./audit-chain.ts";
import { baseFaults, DELETED, type RecordedDeletion, deletionNotes, deletionsIn } from "./audit-deletions.ts";
import type { Engine } from "../engine.ts";
import { DAY_MS, nowOf } from "../moments.ts";
import { newerThan, oldestFirst, type PageEnd } from "../page-cursor.ts";
import type { AuditChainRow, AuditHeadRow, AuditSealRow } from "../tables/audit.ts";

/** Seals per statement. */
const SEALS = 100;
/** Surplus entries in a seal's place that are read. */
const SURPLUS = 1_000;

type Sealed = Pick<AuditChainRow, "seq" | "head" | "entries">;

export const chainRow = ({ db }: Engine, orgId: string) =>
  db.selectFrom("audit_chains").selectAll().where("org_id", "=", orgId).executeTakeFirst();

/** Implements `AuditSealStore.chain`. */
export async function chainOf(engine: Engine, orgId: string): Promise<AuditChain> {
  const chain = (await chainRow(engine, orgId)) ?? noChain(orgId);
  const { unsealed } = await engine.db
    .selectFrom("audit")
    .select((eb) => eb.fn.countAll<number>().as("unsealed"))
    .where("org_id", "=", orgId)
    .where(newerThan({ at: chain.to_at, id: chain.to_id }))
    .executeTakeFirstOrThrow();
  const { seq, head, entries, to_at: sealedTo } = chain;
  const deleted = { seq: chain.base_seq, head: chain.base_head, entries: chain.base_entries, to: chain.base_at };
  return { seq, head, entries, sealedTo, deleted, unsealed };
}

/**
 * True if an organisation has seals; `beyondEnd`: after its chain's last one. A second chain must not start next to
 * them, because it would hide that the first was removed.
 */
export async function hasSeals({ db }: Engine, orgId: string, { beyondEnd = false } = {}): Promise<boolean> {
  // One statement: a seal is added while its chain moves.
  const end = db.selectFrom("audit_chains").select("seq").where("org_id", "=", orgId);
  const seal = await db
    .selectFrom("audit_seals")
    .select("seq")
    .where("org_id", "=", orgId)
    .$if(beyondEnd, (seals) => seals.where("seq", ">", end))
    .limit(1)
    .executeTakeFirst();
  return seal !== undefined;
}

/** Implements `AuditSealStore.check`. */
export async function* checkChain(engine: Engine, orgId: string): ReturnType<AuditSealStore["check"]> {
  // Read before the chain, which only grows.
  const noted = await headRow(engine, orgId);
  const chain = await chainRow(engine, orgId);
  if (chain === undefined) {
    if (await hasSeals(engine, orgId))
      yield { faults: ["The chain was removed, and its seals are still there."], notes: [] };
    else if (noted) yield { faults: [missingFault(noted, 0)], notes: [] };
    return;
  }
  let { before, from } = baseOf(chain);
  let isWhole = true;
  const deletions: RecordedDeletion[] = [];
  const faults: string[] = [];
  for (let more = true; more;) {
    const seals = await sealsAfter(engine, chain, before.seq);
    more = seals.length === SEALS;
    for (const seal of seals) {
      const { checked, recorded } = await checkSeal(engine, seal, before, from);
      const base = checked.faults.length === 0 ? undefined : await chainRow(engine, orgId);
      if (base && base.base_seq > before.seq) {
        // Retention deleted this seal while it was checked. The check continues after the deleted ones.
        ({ before, from } = baseOf(base));
        more = true;
        break;
      }
      yield checked;
      deletions.push(...recorded);
      if (seal.seq === noted?.seq && seal.head !== noted.head)
        faults.push(`Seal ${seal.seq} has another head than on ${dayOf(noted)}: the chain was written again.`);
      isWhole &&= checked.faults.length === 0;
      before = { seq: seal.seq, head: seal.head, entries: before.entries + seal.entries };
      from = { at: seal.to_at, id: seal.to_id };
    }
  }
  // Read before the entries: a deletion's entry is visible together with the base that it moved.
  const now = (await chainRow(engine, orgId)) ?? chain;
  deletions.push(...(await unsealedDeletions(engine, chain)));
  // Retention may delete the last checked seal, or all that the chain had when the check started.
  const isPast = now.base_seq > before.seq || (before.seq > chain.seq && before.seq <= now.seq);
  if (!isPast) faults.push(...endFaults({ ...before, ...from }, chain, isWhole));
  faults.push(...baseFaults(now, deletions, await nowOf(engine)));
  if (noted && noted.seq > now.seq) faults.push(missingFault(noted, now.seq));
  if (await hasSeals(engine, orgId, { beyondEnd: true }))
    faults.push(`The chain ends at seal ${now.seq}, and later seals are still there.`);
  const days = deletions.findLast(({ detail }) => detail.seq === now.base_seq)?.detail.days;
  yield { faults, notes: deletionNotes(now, deletions), ...(days !== undefined && { days }) } satisfies ChainEnd;
}

const dayOf = ({ day }: AuditHeadRow): string => timeText(day * DAY_MS).slice(0, 10);

const missingFault = (noted: AuditHeadRow, end: number): string =>
  `The chain had seal ${noted.seq} on ${dayOf(noted)} and ends at seal ${end}: its end was removed.`;

const headRow = ({ db }: Engine, orgId: string): Promise<AuditHeadRow | undefined> =>
  db.selectFrom("audit_heads").selectAll().where("org_id", "=", orgId).executeTakeFirst();

async function unsealedDeletions({ db }: Engine, { org_id, to_at: at, to_id: id }: AuditChainRow) {
  const entries = db.selectFrom("audit").selectAll().where("org_id", "=", org_id).where("action", "=", DELETED);
  return deletionsIn(await oldestFirst(entries, { at, id }).execute());
}

function baseOf(chain: AuditChainRow): { before: Sealed; from: PageEnd } {
  return {
    before: { seq: chain.base_seq, head: chain.base_head, entries: chain.base_entries },
    from: { at: chain.base_at, id: chain.base_id },
  };
}

const sealsAfter = ({ db }: Engine, { org_id, seq }: AuditChainRow, after: number): Promise<AuditSealRow[]> =>
  db
    .selectFrom("audit_seals")
    .selectAll()
    .where("org_id", "=", org_id)
    .where("seq", ">", after)
    .where("seq", "<=", seq)
    .orderBy("seq")
    .limit(SEALS)
    .execute();

async function checkSeal(engine: Engine, seal: AuditSealRow, before: Sealed, from: PageEnd) {
  const { seq, head, entries, content } = seal;
  const to = { at: seal.to_at, id: seal.to_id };
  // The entries of missing seals would count as the next one's, however many they are.
  const found = seq === before.seq + 1 ? await entriesBetween(engine, seal, from) : [];
  const follows = headOf(before.head, seal) === head;
  const faults =
    seq === before.seq + 1
      ? [
          ...(follows ? [] : [`Seal ${seq} was changed, or the one before: its head does not follow from them.`]),
          ...faultsOf(seal, found),
        ]
      : [`${sealsBetween(before.seq, seq)} removed.`];
  const checked: CheckedSeal = {
    seq,
    before: before.head,
    head,
    entries,
    to,
    content,
    faults,
    found: found.map(({ row, digest }) => ({ line: auditLine(row), digest, agentId: row.agent_id })),
  };
  return { checked, recorded: deletionsIn(found.map(({ row }) => row)) };
}

const sealsBetween = (before: number, next: number): string =>
  next === before + 2 ? `Seal ${before + 1} was` : `Seals ${before + 1} to ${next - 1} were`;

/** The entries in a seal's place, and at most `SURPLUS` others. */
async function entriesBetween(engine: Engine, seal: AuditSealRow, from: PageEnd): Promise<DigestedEntry[]> {
  const { org_id: orgId, to_at: at, to_id: id } = seal;
  const sealed = engine.db
    .selectFrom("audit")
    .selectAll()
    .where("org_id", "=", orgId)
    .where("created_at", "<=", at)
    .where((eb) => eb.or([eb("created_at", "<", at), eb("id", "<=", id)]));
  const rows = await oldestFirst(sealed, from)
    .limit(seal.entries + SURPLUS)
    .execute();
  return rows.map((row) => ({ row, digest: digestOf(row) }));
}

/** `isWhole`: the count also differs where a seal was changed or removed, which is already a fault. */
function endFaults(last: Sealed & PageEnd, chain: AuditChainRow, isWhole: boolean): string[] {
  if (last.seq > chain.seq) return [`The chain ends at seal ${chain.seq}, before the deleted seal ${last.seq}.`];
  if (last.seq !== chain.seq) return [`${sealsBetween(last.seq, chain.seq + 1)} removed from the end of the chain.`];
  if (last.head !== chain.head) return [`The head of the chain is not the one of its last seal, ${last.seq}.`];
  if (last.at !== chain.to_at || last.id !== chain.to_id)
    return [`The chain ends with entry ${chain.to_id} (${timeText(chain.to_at)}), its last seal with ${last.id}.`];
  if (!isWhole || last.entries === chain.entries) return [];
  return [`The chain counts ${chain.entries} entries, its seals ${last.entries}.`];
}
