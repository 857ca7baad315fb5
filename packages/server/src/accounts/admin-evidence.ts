import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { isoTime, type JsonValue, present } from "@patchbay/kit";
import type { AuditRow } from "@patchbay/engine/ports/store/audit";
import type { Store } from "@patchbay/engine/ports/store/stores";
import type { AskedUse } from "./access-use.ts";
import type { AuditAdmin } from "./admin-audit.ts";
import { agentOf } from "./admin-error.ts";
import { findRun, parseSince, type RecordAdmin } from "./admin-records.ts";
import { entriesOf, ownSets } from "./admin-review.ts";

/** A file of the evidence, or a line of a file whose name ends with `.ndjson`. */
export interface EvidencePart {
  file: string;
  content: object;
}

export interface AskedEvidence {
  /** The service's functions and roles. */
  manifest: AskedUse["manifest"];
  /** A time, or a duration before now (`90d`). */
  since: string;
  keep?: readonly string[] | undefined;
  /** How many of the period's runs to show with their whole trace, chosen by the seed. Default 0. */
  sample?: number | undefined;
  seed?: number | undefined;
}

/** What an agent's database proves. */
export interface EvidenceAdmin {
  /** First `use.json`, the rights that the roles used. Seals the audit log up to now. */
  evidence(agentId: string, asked: AskedEvidence): AsyncGenerator<EvidencePart, undefined, undefined>;
}

export function evidenceAdmin(store: Store, admin: AuditAdmin & RecordAdmin): EvidenceAdmin {
  const { accounts, audit, runtimes } = store;
  return {
    async *evidence(agentId, { manifest, since, keep, sample = 0, seed = 0 }) {
      const { orgId } = await agentOf(accounts, agentId);
      const use = await admin.accessUse(agentId, manifest, { since, ...present({ keep }) });
      yield { file: "use.json", content: use };
      await audit.seal({ orgId });
      const sets = await runtimes.functionSets(agentId);
      const content = sets.map(({ firstSeenAt, confirmedAt, ...set }) => ({
        ...set,
        firstSeenAt: isoTime(firstSeenAt),
        ...(confirmedAt !== undefined && { confirmedAt: isoTime(confirmedAt) }),
      }));
      yield { file: "connected.json", content };
      yield { file: "audit-check.json", content: await admin.verifyAudit(orgId) };
      yield* slice(store, { orgId, agentId, from: Date.parse(use.since) });
      const asked = { agentId, since: parseSince(since, await store.now()) };
      const started = await entriesOf(store, "run.started", asked);
      const startOf = await startReader(store, agentId, started);
      yield { file: "periods.json", content: periodsOf(started, startOf) };
      const signed = await entriesOf(store, "access.signed", asked);
      yield { file: "reviews.json", content: signed.map(({ at, detail }) => ({ at: isoTime(at), ...detail })) };
      yield { file: "oversight.json", content: oversightOf(await entriesOf(store, "approval", asked)) };
      if (sample > 0) yield* sampleOf(store, admin, started, { agentId, sample, seed, startOf });
      return undefined;
    },
  };
}

/** The period's seals with their entries. Other agents' entries are withheld: their digests suffice to check the seals. */
async function* slice(
  { audit }: Store,
  { orgId, agentId, from }: { orgId: string; agentId: string; from: number },
): AsyncGenerator<EvidencePart> {
  for await (const segment of audit.check(orgId)) {
    if (!("seq" in segment) || segment.to.at < from) continue;
    const { seq, before, head, entries, to, content, found } = segment;
    const seal = { org: orgId, seq, before, head, entries, at: to.at, id: to.id, content };
    yield { file: "audit-seals.ndjson", content: seal };
    for (const { line, digest, agentId: of } of found) {
      const entry = { seal: seq, digest, ...((of === null || of === agentId) && { entry: line }) };
      yield { file: "audit.ndjson", content: entry };
    }
  }
}

/** Finds the set and the lock with which a run started, for each of its services: a combined set has several. */
async function startReader(store: Store, agentId: string, started: readonly AuditRow[]) {
  const locks = await entriesOf(store, "access.locked", { agentId });
  const parts = new Map<string | null, ReturnType<typeof ownSets>>();
  for (const manifestHash of new Set(started.flatMap((run) => run.manifestHash ?? []))) {
    const manifest = await store.runtimes.getManifest(agentId, manifestHash);
    if (manifest) parts.set(manifestHash, ownSets({ manifestHash, manifest }));
  }
  return ({ manifestHash = null, at }: { manifestHash?: string | null; at: number }) => {
    const lockOf = (hash: string | null): JsonValue =>
      locks.findLast((one) => one.manifestHash === hash && one.at <= at)?.detail?.["lock"] ?? null;
    const services = (parts.get(manifestHash) ?? []).map((set) => ({ ...set, lock: lockOf(set.manifestHash) }));
    return { manifestHash, lock: lockOf(manifestHash), services };
  };
}

type StartReader = Awaited<ReturnType<typeof startReader>>;

/** With what runs started, and when. A set that alternates with another has several periods. */
function periodsOf(started: readonly AuditRow[], startOf: StartReader) {
  const periods: (ReturnType<StartReader> & { from: string; to: string; runs: number })[] = [];
  for (const run of started) {
    const [last, start, to] = [periods.at(-1), startOf(run), isoTime(run.at)];
    if (last && isDeepStrictEqual({ ...last, ...start }, last)) Object.assign(last, { to, runs: last.runs + 1 });
    else periods.push({ ...start, from: to, to, runs: 1 });
  }
  return periods;
}

/** An approval within this time was hardly read. */
const HASTY_MS = 5_000;

/** Whether people decide: how many requests, how fast, and how many ended without a decision. */
function oversightOf(entries: readonly AuditRow[]) {
  const requestedAt = new Map(
    entries.flatMap((one) => (one.action === "approval.requested" ? [[one.callId, one.at] as const] : [])),
  );
  const of = (action: string) => entries.filter((entry) => entry.action === `approval.${action}`);
  const msTo = (decided: readonly AuditRow[]): number[] =>
    decided.flatMap((entry) => {
      const from = requestedAt.get(entry.callId);
      return from === undefined ? [] : [entry.at - from];
    });
  const [approved, rejected] = [of("approved"), of("rejected")];
  const grantedMs = msTo(approved);
  const decidedMs = [...grantedMs, ...msTo(rejected)].toSorted((one, other) => one - other);
  return {
    requested: of("requested").length,
    approved: approved.length,
    rejected: rejected.length,
    edited: approved.filter(({ detail }) => detail?.["edited"] !== undefined).length,
    expired: of("expired").length,
    cancelled: of("cancelled").length,
    medianDecisionMs: decidedMs[Math.floor(decidedMs.length / 2)] ?? null,
    grantedWithinFiveSeconds: grantedMs.filter((ms) => ms <= HASTY_MS).length,
  };
}

/** The population is every run that the audit log says was started, so that an erased run cannot leave it. */
async function* sampleOf(
  store: Store,
  admin: RecordAdmin,
  started: readonly AuditRow[],
  { agentId, sample, seed, startOf }: { agentId: string; sample: number; seed: number; startOf: StartReader },
): AsyncGenerator<EvidencePart> {
  const population = started.flatMap(({ runId }) => runId ?? []);
  const rank = (runId: string): string => createHash("sha256").update(`${seed}:${runId}`).digest("hex");
  const ranked = population.map((runId) => ({ runId, rank: rank(runId) }));
  const chosen = ranked.toSorted((a, b) => (a.rank < b.rank ? -1 : 1)).slice(0, sample);
  yield { file: "sample.json", content: { seed, population: population.length, runs: chosen } };
  for (const { runId } of chosen) {
    const isKept = (await findRun(store, runId, agentId)) !== undefined;
    const entries = await admin.listAudit(agentId, { runId, limit: 1_000 });
    const run = isKept ? await admin.showRun(runId) : null;
    const start = startOf(started.find((one) => one.runId === runId)!);
    yield { file: "sample.ndjson", content: { runId, ...start, run, audit: entries.items.toReversed() } };
  }
}
