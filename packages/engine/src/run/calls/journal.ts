import {
  FUNCTION_NAME,
  type FunctionManifest,
  LIMITS,
  type LiveEvent,
  type QueryResponse,
  type RunEvent,
  type RunStatus,
} from "@patchbay/protocol";
import type { JsonObject } from "@patchbay/kit";
import type { AuditEntry, CallRecord, RunRecord } from "../../ports/records.ts";
import { refusalOf, ruleOf } from "../../ports/refusal.ts";
import type { NewRun, RunCommit, StoredEvent } from "../../ports/store/run-store.ts";
import type { NewDelivery } from "../../ports/store/webhooks.ts";
import { type RunContext, withRetry } from "../run-context.ts";
import type { RunFailure } from "../run-failure.ts";
import { digestOf } from "./audit-digests.ts";
import { isBeyondLimit } from "./limits.ts";

/** One step of a run. Either everything in it is stored, or nothing. */
export type JournalEntry = Omit<RunCommit, "events"> & { events?: RunEvent[] };

/** What the agent's webhook gets when a run ends whose client does not wait. */
export function reportOf(
  { runId, threadId, request }: Pick<RunRecord, "runId" | "threadId" | "request">,
  status: RunStatus,
  { code }: Pick<QueryResponse, "code">,
): { report?: NewDelivery } {
  if (!request.reported) return {};
  return { report: { type: "run.ended", data: { runId, threadId, status, ...(code && { code }) } } };
}

/**
 * The only writer for a run's log. Stores entries one after the other and publishes their events after the commit. An
 * entry waits while the store is unavailable. Throws `LeaseLost` when another process owns the run.
 */
export function createJournal(
  run: Pick<RunRecord, "runId" | "fence" | "lastSeq">,
  { runs, feed, clock, log }: Pick<RunContext, "runs" | "feed" | "clock" | "log">,
  signal: AbortSignal,
  /** Audit entries that are stored with the first entry. */
  opening: readonly AuditEntry[] = [],
) {
  let { lastSeq } = run;
  let pendingAudit = opening;
  let tail: Promise<unknown> = Promise.resolve();
  /** Events that may be stored although their entry failed: the store's answer was lost, and the run then aborted. */
  let unsure: StoredEvent[] = [];

  /** Otherwise the entry with the run's end would repeat their numbers, and another owner would have to end the run. */
  async function findUnsure(until: { signal?: AbortSignal }): Promise<void> {
    const { length } = unsure;
    if (length === 0) return;
    const found = await withRetry(() => runs.events(run.runId, lastSeq, length), { clock, log, ...until });
    if (found.length === length && found.every(({ body }, i) => body === unsure[i]!.body)) stored(unsure);
    unsure = [];
  }

  function stored(events: StoredEvent[]): void {
    pendingAudit = [];
    lastSeq += events.length;
    if (events.length > 0) feed.publishStored(run.runId, events);
  }

  async function store(entry: JournalEntry): Promise<{ reservedMicros: number }> {
    // The last entry ignores the signal: an aborted run must still be able to store how it ended.
    const until = entry.finish ? {} : { signal };
    await findUnsure(until);
    const events: StoredEvent[] = (entry.events ?? []).map((event, i) => ({
      seq: lastSeq + i + 1,
      body: JSON.stringify(event),
    }));
    const audit = [...pendingAudit, ...(entry.audit ?? [])];
    // The fence in `run` makes the commit fail when another process has claimed the run, so no two processes write one log.
    const commit = () => runs.commit(run, { ...entry, events, audit });
    const reserved = await withRetry(commit, { clock, log, ...until }).catch((error: unknown) => {
      if (signal.aborted) unsure = events;
      throw error;
    });
    stored(events);
    return reserved;
  }

  return {
    /** Resolves with the credit that the store reserved for the entry's `reserve`; 0 when the store does not know. */
    write(entry: JournalEntry): Promise<{ reservedMicros: number }> {
      // A turn's calls may end at the same time. Without the queue two commits could use the same event numbers.
      const written = tail.then(() => store(entry));
      tail = written.catch(() => {});
      return written;
    },
    /** Publishes an event that is not stored. */
    live: (event: LiveEvent): void => feed.publishLive(run.runId, event),
  };
}

export type Journal = ReturnType<typeof createJournal>;

/** Redacted paths that an audit entry lists; its `count` has their total. */
const MAX_PATHS = 100;

/** A run's audit entry. It has codes and ids, never values. */
export function runEntry(run: RunRecord | NewRun, action: string, more: Partial<AuditEntry> = {}): AuditEntry {
  const { agentId, runId, keyId, request } = run;
  const { role } = request;
  return { action, agentId, runId, keyId, ...(role !== undefined && { role }), ...more };
}

/** The part of a failure that its run's audit entry keeps. */
export const detailOf = ({ detail }: RunFailure): Pick<AuditEntry, "detail"> => (detail ? { detail } : {});

/** The audit entry for a query that was rejected before it became a run. */
export function refusedQuery(
  { orgId, agentId, keyId }: Pick<NewRun, "orgId" | "agentId" | "keyId">,
  role: string | undefined,
  rule: "role_not_allowed" | "context" | "caller",
): AuditEntry & { orgId: string } {
  return { action: "query.refused", orgId, agentId, keyId, rule, ...(role !== undefined && { role }) };
}

/** The audit entries for an ended call: its outcome, the rule that denied it, and its result's redacted paths. */
export function callEntries(run: RunRecord, call: CallRecord): AuditEntry[] {
  const { outcome } = call;
  const about = aboutCall(call);
  const digests = digestsOf(run, call);
  if (!outcome) return [runEntry(run, "call.failed", { ...about, rule: "cancelled", ...withDetail(digests) })];
  if (!outcome.ok) {
    const action = refusalOf(outcome) === undefined ? "call.failed" : "call.denied";
    const reason = isBeyondLimit(outcome) ? { reason: outcome.message } : {};
    return [runEntry(run, action, { ...about, rule: ruleOf(outcome), ...withDetail({ ...reason, ...digests }) })];
  }
  const entries = [runEntry(run, "call.succeeded", { ...about, ...withDetail(digests) })];
  const paths = outcome.redacted ?? [];
  if (paths.length === 0) return entries;
  const members = paths.slice(0, MAX_PATHS).map((path) => path.slice(0, LIMITS.labelUnits));
  return [...entries, runEntry(run, "call.redacted", { ...about, detail: { members, count: paths.length } })];
}

const withDetail = (detail: JsonObject): Pick<AuditEntry, "detail"> =>
  Object.keys(detail).length > 0 ? { detail } : {};

/** Runs that an earlier version started have no salt. */
function digestsOf({ request: { auditSalt: salt } }: RunRecord, call: CallRecord) {
  if (salt === undefined) return {};
  const { arguments: given, outcome, functionName } = call;
  return {
    digests: {
      arguments: digestOf(salt, given),
      result: digestOf(salt, outcome),
      function: digestOf(salt, functionName),
    },
  };
}

/** The audit entry for a call to a deprecated function. */
export function deprecatedUse(run: RunRecord, call: CallRecord, one: FunctionManifest | undefined): AuditEntry[] {
  if (one?.deprecated === undefined) return [];
  return [runEntry(run, "call.deprecated", aboutCall(call))];
}

/** The audit entry for a call that the runtime denied although the control plane had allowed it by the same rule. */
export function disagreement(run: RunRecord, call: CallRecord): (AuditEntry & { rule: string }) | undefined {
  const { outcome } = call;
  if (outcome?.ok !== false || outcome.code !== "unknown_function") return undefined;
  const rule = ruleOf(outcome);
  return { ...runEntry(run, "access.disagreement", aboutCall(call)), rule };
}

/** A model may write any text as a name, including a secret from the query. Only valid names are kept. */
const aboutCall = ({ callId, functionName }: CallRecord) => ({
  callId,
  functionName: FUNCTION_NAME.test(functionName) ? functionName : "(not a name)",
});
