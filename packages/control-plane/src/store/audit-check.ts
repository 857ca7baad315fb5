import type { AuditChain, AuditSealStore, CheckedSeal } from "../ports/audit-seals.ts";
import { auditLine, digestOf, type DigestedEntry, faultsOf, headOf, noChain } from "./audit-chain.ts";
import type { Engine } from "./engine.ts";
import type { PageEnd } from "./page-cursor.ts";
import type { AuditChainRow, AuditSealRow } from "./schema-of-audit.ts";
import { newerThan } from "./sweep/batches.ts";

/** Seals per statement. */
const SEALS = 100;
/** Entries in the place of a seal that are read beyond its own. */
const SURPLUS = 1_000;
const ENTRY = { at: "created_at", id: "id" };

type Sealed = Pick<AuditChainRow, "seq" | "head" | "entries">;

const chainRow = ({ db }: Engine, orgId: string) =>
  db.selectFrom("audit_chains").selectAll().where("org_id", "=", orgId).executeTakeFirst();

/** Implements `AuditSealStore.chain`. */
export async function chainOf(engine: Engine, orgId: string): Promise<AuditChain> {
  const chain = (await chainRow(engine, orgId)) ?? noChain(orgId);
  const { unsealed } = await engine.db
    .selectFrom("audit")
    .select((eb) => eb.fn.countAll<number>().as("unsealed"))
    .where("org_id", "=", orgId)
    .where(newerThan({ at: chain.to_at, id: chain.to_id }, ENTRY))
    .executeTakeFirstOrThrow();
  const { seq, head, entries, to_at: sealedTo } = chain;
  const deleted = { seq: chain.base_seq, head: chain.base_head, entries: chain.base_entries, to: chain.base_at };
  return { seq, head, entries, sealedTo, deleted, unsealed };
}

/** True if an organisation has seals. A second chain must not begin next to them, because it would hide the removal of the first. */
export async function hasSeals({ db }: Engine, orgId: string): Promise<boolean> {
  const seal = await db.selectFrom("audit_seals").select("seq").where("org_id", "=", orgId).limit(1).executeTakeFirst();
  return seal !== undefined;
}

/** Implements `AuditSealStore.check`. */
export async function* checkChain(engine: Engine, orgId: string): ReturnType<AuditSealStore["check"]> {
  const chain = await chainRow(engine, orgId);
  if (chain === undefined) {
    if (await hasSeals(engine, orgId)) yield { faults: ["The chain was removed, and its seals are still there."] };
    return;
  }
  let { before, from } = baseOf(chain);
  let isWhole = true;
  for (let more = true; more;) {
    const seals = await sealsAfter(engine, chain, before.seq);
    more = seals.length === SEALS;
    for (const seal of seals) {
      const checked = await checkSeal(engine, seal, before, from);
      const base = checked.faults.length === 0 ? undefined : await chainRow(engine, orgId);
      if (base && base.base_seq > before.seq) {
        // Retention deleted this seal while it was checked. The check continues after the deleted ones.
        ({ before, from } = baseOf(base));
        more = true;
        break;
      }
      yield checked;
      isWhole &&= checked.faults.length === 0;
      before = { seq: seal.seq, head: seal.head, entries: before.entries + seal.entries };
      from = { at: seal.to_at, id: seal.to_id };
    }
  }
  const fault = endFault(before, chain, isWhole);
  if (fault === undefined) return;
  const { base_seq: deleted } = (await chainRow(engine, orgId)) ?? chain;
  if (deleted <= before.seq && before.seq <= chain.seq) yield { faults: [fault] };
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

async function checkSeal(engine: Engine, seal: AuditSealRow, before: Sealed, from: PageEnd): Promise<CheckedSeal> {
  const { seq, head, entries, content } = seal;
  const to = { at: seal.to_at, id: seal.to_id };
  // The entries of missing seals would count as those of the next one, however many they are.
  const found = seq === before.seq + 1 ? await entriesBetween(engine, seal, from) : [];
  const follows = headOf(before.head, seal) === head;
  const faults =
    seq === before.seq + 1
      ? [
          ...(follows ? [] : [`Seal ${seq} was changed, or the one before: its head does not follow from them.`]),
          ...faultsOf(seal, found),
        ]
      : [`${sealsBetween(before.seq, seq)} removed.`];
  return {
    seq,
    before: before.head,
    head,
    entries,
    to,
    content,
    faults,
    found: found.map(({ row, digest }) => ({ line: auditLine(row), digest, agentId: row.agent_id })),
  };
}

const sealsBetween = (before: number, next: number): string =>
  next === before + 2 ? `Seal ${before + 1} was` : `Seals ${before + 1} to ${next - 1} were`;

/** The entries in the place of a seal, and at most `SURPLUS` others. */
async function entriesBetween(engine: Engine, seal: AuditSealRow, from: PageEnd): Promise<DigestedEntry[]> {
  const { org_id: orgId, to_at: at, to_id: id } = seal;
  const rows = await engine.db
    .selectFrom("audit")
    .selectAll()
    .where("org_id", "=", orgId)
    .where(newerThan(from, ENTRY))
    .where("created_at", "<=", at)
    .where((eb) => eb.or([eb("created_at", "<", at), eb("id", "<=", id)]))
    .orderBy("created_at")
    .orderBy("id")
    .limit(seal.entries + SURPLUS)
    .execute();
  return rows.map((row) => ({ row, digest: digestOf(row) }));
}

/** `isWhole`: the count differs also where a seal was changed or removed, which is a fault already. */
function endFault(last: Sealed, chain: AuditChainRow, isWhole: boolean): string | undefined {
  if (last.seq !== chain.seq) return `${sealsBetween(last.seq, chain.seq + 1)} removed from the end of the chain.`;
  if (last.head !== chain.head) return `The head of the chain is not the one of its last seal, ${last.seq}.`;
  if (!isWhole || last.entries === chain.entries) return undefined;
  return `The chain counts ${chain.entries} entries, its seals ${last.entries}.`;
}
