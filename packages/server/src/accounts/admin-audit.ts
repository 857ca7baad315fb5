import { present, timeText } from "@patchbay/kit";
import type { SettledRow } from "@patchbay/engine/ports/store/audit";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { type AccessUse, accessUse, type AskedUse } from "./access-use.ts";
import { AdminError, agentOf, orgOf } from "./admin-error.ts";
import { parseSince, recordAdmin } from "./admin-records.ts";
import { checkRuns } from "./audit-runs.ts";

/** Maximum faults that a verification lists per organisation. */
const LISTED = 1_000;
const EXPORTED_AT_ONCE = 500;

/** An organisation's verified audit log. */
export interface VerifiedAudit {
  orgId: string;
  /** The audit head: the last seal's number and hash, as `SEQ:HASH`; null before the first seal. */
  head: string | null;
  /** Seals whose entries were checked. */
  seals: number;
  /** Entries in these seals. */
  entries: number;
  /** The last sealed entry's time. */
  sealedTo: string | null;
  /**
   * Entries deleted by retention, the last one's time, and the retention days that the last deletion recorded: null
   * without a deletion, and after an upgrade until the first deletion in this version.
   */
  deleted: { entries: number; to: string | null; days: number | null };
  /** Entries without a seal: changes to them cannot be detected. */
  unsealed: number;
  /** One sentence each. */
  faults: string[];
  omittedFaults: number;
  /** Stored runs that were compared with their entries, and runs of earlier versions. Only if asked. */
  runs?: { compared: number; earlier: number };
  /** Notable facts that are not faults: changed retention, and deletions without a record. One sentence each. */
  notes: string[];
}

/** An exported entry. */
export type ExportedEntry = Omit<SettledRow, "at"> & { at: string };

/** Which entries to export. */
export interface AuditExport {
  /** Continues after the entry with this cursor. */
  cursor?: string;
  /** A time, inclusive, or a duration before now (`90d`). */
  since?: string;
  /** A time, exclusive. */
  until?: string;
}

/** Verifies and exports the audit log, and compares it with role lists. */
export interface AuditAdmin {
  /**
   * Checks that the sealed entries are unchanged and complete, and that older ones were deleted by age, as entries
   * record. `head`: an earlier `SEQ:HASH`, which the chain must still contain. `runs`: also checks that the roles,
   * arguments, results and contexts of stored runs are those in the log.
   */
  verifyAudit(orgId: string, options?: { head?: string; runs?: boolean }): Promise<VerifiedAudit>;
  /**
   * All of an organisation's entries, oldest first, page by page, up to 10 s before now: a later export that continues
   * at the last cursor gets every entry once.
   */
  exportAudit(orgId: string, asked: AuditExport): AsyncGenerator<ExportedEntry[], undefined, undefined>;
  /** Which roles use the functions whose role lists include them. `since`: a time, or a duration before now (`90d`). */
  accessUse(
    agentId: string,
    manifest: AskedUse["manifest"],
    options: { since: string; keep?: readonly string[] },
  ): Promise<AccessUse>;
}

export function auditAdmin(store: Store): AuditAdmin {
  const { accounts, audit } = store;
  return {
    async verifyAudit(orgId, { head: noted, runs: withRuns = false } = {}) {
      await orgOf(accounts, orgId);
      const expected = noted === undefined ? undefined : parseHead(noted);
      const chain = await audit.chain(orgId);
      const sum = { seals: 0, entries: 0 };
      const faults: string[] = [];
      const notes: string[] = [];
      let days: number | undefined;
      let omittedFaults = 0;
      const heads = new Map([[chain.deleted.seq, chain.deleted.head]]);
      for await (const checked of audit.check(orgId)) {
        for (const fault of checked.faults)
          if (faults.length < LISTED) faults.push(fault);
          else omittedFaults++;
        if (!("seq" in checked)) {
          notes.push(...checked.notes);
          days = checked.days;
          continue;
        }
        sum.seals++;
        sum.entries += checked.found.length;
        if (checked.seq === expected?.seq) heads.set(checked.seq, checked.head);
      }
      if (expected) faults.push(...missingHead(expected, heads.get(expected.seq), chain.deleted.seq));
      const compared = withRuns ? await checkRuns(store, recordAdmin(store), orgId) : undefined;
      faults.push(...(compared?.faults.slice(0, LISTED) ?? []));
      omittedFaults += Math.max(0, (compared?.faults.length ?? 0) - LISTED);
      const deletedTo = chain.deleted.seq > 0 ? timeText(chain.deleted.to) : null;
      return {
        orgId,
        ...sum,
        head: chain.seq > 0 ? `${chain.seq}:${chain.head}` : null,
        sealedTo: chain.seq > 0 ? timeText(chain.sealedTo) : null,
        deleted: { entries: chain.deleted.entries, to: deletedTo, days: days ?? null },
        unsealed: chain.unsealed,
        ...(compared && { runs: { compared: compared.compared, earlier: compared.earlier } }),
        faults,
        omittedFaults,
        notes,
      };
    },

    async *exportAudit(orgId, { cursor, since, until }) {
      const range = present({
        since: since === undefined ? undefined : parseSince(since, await store.now()),
        until: until === undefined ? undefined : Date.parse(until),
      });
      for (let next = cursor; ;) {
        const page = await audit.settled(orgId, { ...range, ...present({ cursor: next }), limit: EXPORTED_AT_ONCE });
        if (page.length > 0)
          yield page.map(({ cursor, id, at, ...entry }) => ({ cursor, id, at: timeText(at), ...entry }));
        if (page.length < EXPORTED_AT_ONCE) return undefined;
        next = page.at(-1)!.cursor;
      }
    },

    async accessUse(agentId, manifest, { since, keep = [] }) {
      await agentOf(accounts, agentId);
      return accessUse(store, { agentId, manifest, since: parseSince(since, await store.now()), keep });
    },
  };
}

function parseHead(text: string): { seq: number; hash: string } {
  const [, seq, hash] = /^([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq !== undefined && hash !== undefined) return { seq: Number(seq), hash };
  throw new AdminError(`"${text}" is not a head. Give SEQ:HASH, as an earlier verification printed it.`);
}

function missingHead(
  { seq, hash }: { seq: number; hash: string },
  now: string | undefined,
  deletedSeq: number,
): string[] {
  if (now === hash) return [];
  if (now !== undefined) return [`Seal ${seq} has the head ${now} instead of ${hash}: the chain was written again.`];
  if (seq <= deletedSeq)
    return [`Seal ${seq} was deleted with its entries, so its head cannot be compared. Note heads more often.`];
  return [`The chain has no seal ${seq}: its end was removed, or it was written again.`];
}
