import { present } from "@patchbay/protocol";
import type { SettledRow } from "../ports/audit.ts";
import type { Store } from "../ports/stores.ts";
import { type AccessUse, accessUse, type AskedUse } from "./access-use.ts";
import { AdminError, found } from "./admin-error.ts";
import { parseSince } from "./admin-records.ts";

/** Faults that a verification lists for an organisation. */
const LISTED = 1_000;
const EXPORTED_AT_ONCE = 500;

/** The verified audit log of an organisation. */
export interface VerifiedAudit {
  orgId: string;
  /** Number and head of the last seal, as `SEQ:HASH`; null while nothing was sealed. */
  head: string | null;
  /** Seals whose entries were checked. */
  seals: number;
  /** Entries in them. */
  entries: number;
  /** Time of the last sealed entry. */
  sealedTo: string | null;
  /** Entries that retention deleted, and the time of the last one. */
  deleted: { entries: number; to: string | null };
  /** Entries that are not sealed yet: nothing shows a change of them. */
  unsealed: number;
  /** One sentence for each. */
  faults: string[];
  omittedFaults: number;
}

/** An entry of an export. */
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
   * Checks that the sealed entries are unchanged and complete. `head`: a `SEQ:HASH` that was noted before; the chain must still
   * contain it.
   */
  verifyAudit(orgId: string, options?: { head?: string }): Promise<VerifiedAudit>;
  /**
   * All entries of an organisation, oldest first, page by page, up to 10 s before now: a later export that continues at the last
   * cursor gets every entry once.
   */
  exportAudit(orgId: string, asked: AuditExport): AsyncGenerator<ExportedEntry[], undefined, undefined>;
  /** Which roles use the functions of their role lists. `since`: a time, or a duration before now (`90d`). */
  accessUse(
    agentId: string,
    manifest: AskedUse["manifest"],
    options: { since: string; keep?: readonly string[] },
  ): Promise<AccessUse>;
}

export function auditAdmin(store: Store): AuditAdmin {
  const { accounts, audit } = store;
  return {
    async verifyAudit(orgId, { head: noted } = {}) {
      found(await accounts.getOrg(orgId), "organisation", orgId, "orgs list");
      const expected = noted === undefined ? undefined : parseHead(noted);
      const chain = await audit.chain(orgId);
      const sum = { seals: 0, entries: 0 };
      const faults: string[] = [];
      let omittedFaults = 0;
      const heads = new Map([[chain.deleted.seq, chain.deleted.head]]);
      for await (const one of audit.check(orgId)) {
        for (const fault of one.faults)
          if (faults.length < LISTED) faults.push(fault);
          else omittedFaults++;
        if (!("seq" in one)) continue;
        sum.seals++;
        sum.entries += one.found.length;
        if (one.seq === expected?.seq) heads.set(one.seq, one.head);
      }
      if (expected) faults.push(...missingHead(expected, heads.get(expected.seq), chain.deleted.seq));
      const deletedTo = chain.deleted.seq > 0 ? timeOf(chain.deleted.to) : null;
      return {
        orgId,
        ...sum,
        head: chain.seq > 0 ? `${chain.seq}:${chain.head}` : null,
        sealedTo: chain.seq > 0 ? timeOf(chain.sealedTo) : null,
        deleted: { entries: chain.deleted.entries, to: deletedTo },
        unsealed: chain.unsealed,
        faults,
        omittedFaults,
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
          yield page.map(({ cursor, id, at, ...entry }) => ({ cursor, id, at: timeOf(at), ...entry }));
        if (page.length < EXPORTED_AT_ONCE) return undefined;
        next = page.at(-1)!.cursor;
      }
    },

    async accessUse(agentId, manifest, { since, keep = [] }) {
      found(await accounts.getAgent(agentId), "agent", agentId, "agents list");
      return accessUse(store, { agentId, manifest, since: parseSince(since, await store.now()), keep });
    },
  };
}

const timeOf = (at: number): string => new Date(at).toISOString();

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
