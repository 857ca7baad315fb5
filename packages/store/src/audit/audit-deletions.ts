import { isJsonObject, type JsonObject, timeText } from "@patchbay/kit";
import { DAY_MS } from "../moments.ts";
import { headOf, noChain } from "./audit-chain.ts";
import type { AuditChainRow, AuditSealRow, AuditTableRow } from "../tables/audit.ts";

/** The action in entries about deletions by age. */
export const DELETED = "audit.deleted";

/** The database's clock may be set by this much between a deletion and its entry. */
const CLOCK_STEP_MS = 3_600_000;

/** `detail` of a deletion entry: until when, by which retention, and the last deleted seal, which proves the rest. */
export type DeletionDetail = {
  /** Entries deleted this time. */
  entries: number;
  /** ISO time of the last deleted entry. */
  until: string;
  /** The retention. Absent if an upgrade recorded the deletions by an earlier version. */
  days?: number;
  seq: number;
  head: string;
  /** Id of the last deleted entry. */
  id: string;
  /** Deleted entries, including earlier deletions. */
  total: number;
  /** The other inputs for `head`, besides `seq`, `until` and `id`: the previous head, and the seal's entries. */
  before?: string;
  sealed?: number;
  content?: string;
};

/** An entry about a deletion by age. */
export interface RecordedDeletion {
  id: string;
  at: number;
  detail: DeletionDetail;
}

/** `detail` for the entry about a deletion that ends with `last`. */
export const detailOf = (
  last: AuditSealRow,
  { before, ...counted }: { entries: number; total: number; days: number; before: string },
): DeletionDetail => ({
  ...counted,
  until: timeText(last.to_at),
  seq: last.seq,
  head: last.head,
  id: last.to_id,
  before,
  sealed: last.entries,
  content: last.content,
});

/** The deletions that some log entries record. A changed entry may have any text as its `detail`. */
export function deletionsIn(rows: readonly AuditTableRow[]): RecordedDeletion[] {
  return rows
    .filter(({ action }) => action === DELETED)
    .map(({ id, created_at: at, detail }) => ({ id, at, detail: parsed(detail ?? "{}") as DeletionDetail }));
}

function parsed(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/**
 * What contradicts the place where a chain starts: an entry must record the earlier deletion, and the last deleted
 * entry must have been as old as the retention. Its time is part of the hash from which the next seal follows.
 */
export function baseFaults(chain: AuditChainRow, deletions: readonly RecordedDeletion[], nowMs: number): string[] {
  const { org_id, base_seq: seq, base_head: head, base_at: at, base_id: id, base_entries: total } = chain;
  if (seq === 0) {
    const none = noChain(org_id);
    const isWhole = head === none.base_head && at === 0 && id === "" && total === 0;
    return isWhole ? [] : ["The beginning of the chain was changed: no seal is deleted."];
  }
  const begins = `The log begins after seal ${seq} (${timeText(at)})`;
  const found = deletions.findLast(({ detail }) => detail.seq === seq);
  if (!found) return [`${begins}, and no entry records that the ${total} entries before were deleted by age.`];
  const { detail } = found;
  const entry = `Entry ${found.id} (${timeText(found.at)})`;
  if (detail.head !== head || detail.until !== timeText(at) || detail.id !== id || detail.total !== total)
    return [`${begins}, with ${total} deleted entries, which is not what entry ${found.id} records.`];
  const { days, before = "", sealed = 0, content = "" } = detail;
  if (days === undefined) return [];
  const seal = { org_id, seq, entries: sealed, to_at: at, to_id: id, content };
  if (headOf(before, seal) !== head) return [`${entry} records another time of seal ${seq} than the chain has.`];
  if (typeof days !== "number" || !(days >= 0)) return [`${entry} records no retention.`];
  if (found.at > nowMs + CLOCK_STEP_MS) return [`${entry} records a deletion and is dated after now.`];
  const age = found.at - at;
  if (age >= days * DAY_MS - CLOCK_STEP_MS) return [];
  return [`${entry} records a retention of ${days} days, but deleted entries of ${(age / DAY_MS).toFixed(1)} days.`];
}

/** What readers should know about a chain's deletions, in their order. One sentence each. */
export function deletionNotes(chain: AuditChainRow, deletions: readonly RecordedDeletion[]): string[] {
  const notes: string[] = [];
  for (const [i, { at, detail }] of deletions.entries()) {
    const { days, seq, until, total, entries } = detail;
    if (days === undefined && seq === chain.base_seq)
      notes.push(
        `${total} entries until ${until} were deleted before deletions were recorded: nothing shows their age.`,
      );
    const last = deletions[i - 1];
    if (last === undefined) continue;
    if (last.detail.days !== undefined && days !== last.detail.days)
      notes.push(
        `The retention was ${last.detail.days} days on ${timeText(last.at)}, and ${days} days on ${timeText(at)}.`,
      );
    const missing = total - entries - last.detail.total;
    if (missing !== 0)
      notes.push(
        `${missing} more entries are counted as deleted between ${timeText(last.at)} and ${timeText(at)}, without a record.`,
      );
  }
  return notes;
}
