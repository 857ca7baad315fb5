import { isoTime } from "@patchbay/kit";
import { createHash } from "node:crypto";
import { type AuditChainRow, auditColumns, type AuditSealRow, type AuditTableRow } from "../tables/audit.ts";

/** The head before the first seal. */
const NO_HEAD = "0".repeat(64);

/** Hexadecimal digits kept from each digest in a seal. */
const KEPT_DIGITS = 16;

/** The chain for an organisation without seals. */
export const noChain = (orgId: string): AuditChainRow => ({
  org_id: orgId,
  seq: 0,
  head: NO_HEAD,
  to_at: 0,
  to_id: "",
  entries: 0,
  base_seq: 0,
  base_head: NO_HEAD,
  base_at: 0,
  base_id: "",
  base_entries: 0,
});

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** An entry's text for hashing: a JSON array with its columns. `detail` is the stored text. */
export const auditLine = (row: AuditTableRow): string => JSON.stringify(auditColumns.names.map((name) => row[name]));

export const digestOf = (row: AuditTableRow): string => hashOf(auditLine(row));

/** The hash of a batch, from its entry digests: one entry can be withheld, and the others remain verifiable. */
export const contentOf = (digests: readonly string[]): string =>
  hashOf(digests.map((digest) => `${digest}\n`).join(""));

/** The hash over a seal and, through `before`, all previous seals. */
export function headOf(
  before: string,
  { org_id, seq, entries, to_at, to_id, content }: Omit<AuditSealRow, "head" | "digests" | "sealed_at">,
): string {
  const lines = ["patchbay-audit-1", org_id, seq, before, entries, to_at, to_id, content];
  return hashOf(lines.map((line) => `${line}\n`).join(""));
}

export const keptDigests = (digests: readonly string[]): string =>
  digests.map((digest) => digest.slice(0, KEPT_DIGITS)).join("");

/** An entry with its digest. */
export interface DigestedEntry {
  row: AuditTableRow;
  digest: string;
}

/** Differences between a seal's entries and those in its place in the log. One sentence each. */
export function faultsOf(seal: AuditSealRow, entries: readonly DigestedEntry[]): string[] {
  if (contentOf(entries.map(({ digest }) => digest)) === seal.content && entries.length === seal.entries) return [];
  const sealed: readonly string[] = seal.digests.match(/.{16}/g) ?? [];
  const faults: string[] = [];
  let next = 0;
  let last: AuditTableRow | undefined;
  /** Compares what is between two unchanged entries: `found` in the log, and the sealed ones up to `until`. */
  const compare = (found: readonly DigestedEntry[], until: number): void => {
    const missing = until - next;
    for (const [at, { row }] of found.entries())
      faults.push(`Entry ${named(row)} was ${at < missing ? "changed after it was sealed" : "inserted"}.`);
    const removed = missing - found.length;
    if (removed > 0)
      faults.push(`${removed === 1 ? "1 entry was" : `${removed} entries were`} removed ${after(last, seal)}.`);
  };
  let open: DigestedEntry[] = [];
  for (const entry of entries) {
    const at = sealed.indexOf(entry.digest.slice(0, KEPT_DIGITS), next);
    if (at === -1) {
      open.push(entry);
      continue;
    }
    compare(open, at);
    open = [];
    next = at + 1;
    last = entry.row;
  }
  compare(open, sealed.length);
  return faults.length > 0 ? faults : [`Seal ${seal.seq}: its entries are not the sealed ones.`];
}

const named = ({ id, created_at }: AuditTableRow): string => `${id} (${isoTime(created_at)})`;

const after = (row: AuditTableRow | undefined, { seq }: AuditSealRow): string =>
  row ? `after entry ${named(row)}` : `at the beginning of seal ${seq}`;
