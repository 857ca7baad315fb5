import { type Manifest, rolesAllow, type RunStatus, type StoredCall } from "@patchbay/protocol";
import type { AuditEntry, RunRecord } from "../ports/records.ts";
import type { AuditFilter, AuditRow } from "../ports/audit.ts";
import type { Store } from "../ports/stores.ts";
import { usdOf } from "./admin-accounts.ts";
import { AdminError, found } from "./admin-error.ts";

const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds of a time (`2026-11-20`, `2026-11-20T09:30:00Z`) or of a duration before now (`90m`, `24h`, `7d`). */
export function parseSince(text: string, now: number): number {
  const ago = /^(\d{1,6})([mhd])$/.exec(text.trim());
  const time = ago ? now - Number(ago[1]) * UNITS_MS[ago[2] as keyof typeof UNITS_MS] : Date.parse(text);
  if (!Number.isNaN(time)) return time;
  throw new AdminError(
    `"${text}" is not a valid time. Give a time like 2026-11-20T09:30:00Z or a duration like 90m, 24h or 7d.`,
  );
}

const NEWEST = 100;
const AT_ONCE = 8;
const ALL_EVENTS = 10_000;
/** Results of up to 256 KiB are read with them. */
const CALLS_AT_ONCE = 200;

export interface ListedRun {
  runId: string;
  agentId: string;
  threadId: string;
  /** Id of the request that started it: the client's `X-Request-Id`, or a new one. */
  requestId: string | null;
  status: RunStatus;
  role: string | null;
  /** Error code of a failed run. */
  code: string | null;
  query: string;
  /** Milliseconds from its acceptance to its end; null before. */
  durationMs: number | null;
  /** Cost of its turns so far, in US dollars. */
  costUsd: number;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
}

/** An entry of the audit log. `at` is an ISO time. */
export type ListedAudit = AuditEntry & { id: string; at: string };

export interface ListedAuditPage {
  items: ListedAudit[];
  nextCursor: string | null;
}

/** Filter of the audit log. `since` is an ISO time or a duration before now (`24h`). */
export interface AuditQuery extends Omit<AuditFilter, "since" | "until" | "agentId" | "orgId"> {
  since?: string;
  /** Default 100. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  cursor?: string;
}

/** Lists runs and the audit log, newest first. */
export interface RecordAdmin {
  listRuns(agentId: string, options?: { limit?: number }): Promise<{ items: ListedRun[] }>;
  /** The runs that requests with this id started, of one agent or of all. */
  runsOfRequest(
    requestId: string,
    options?: { agentId?: string | undefined; limit?: number },
  ): Promise<{ items: ListedRun[] }>;
  /** A run with its events in order, as endpoint 2 sends them. */
  showRun(runId: string): Promise<ListedRun & { items: unknown[] }>;
  listAudit(agentId: string, query?: AuditQuery): Promise<ListedAuditPage>;
  /** Administrative changes of an organisation and its agents. */
  listAdministration(orgId: string, query?: AuditQuery): Promise<ListedAuditPage>;
  /** Undefined when the audit log has no entry of the run, or when the run had no functions. */
  runAccess(agentId: string, runId: string): Promise<RunAccess | undefined>;
  /** The last ended calls of an agent, the newest first, each with the function set of its run if that is stored. */
  storedCalls(agentId: string, last: number): AsyncIterable<StoredCallOfSet>;
}

export interface StoredCallOfSet extends StoredCall {
  manifest: Manifest | undefined;
}

export function recordAdmin(store: Store): RecordAdmin {
  const { accounts, audit, runs } = store;
  async function listed(run: RunRecord): Promise<ListedRun> {
    const { turns } = await runs.outline(run.runId);
    return { ...listedRun(run), costUsd: usdOf(turns.reduce((sum, { costMicros }) => sum + costMicros, 0)) };
  }

  async function listedAll(newest: readonly RunRecord[]): Promise<{ items: ListedRun[] }> {
    const items: ListedRun[] = [];
    // A few at a time: a store has few connections.
    for (let at = 0; at < newest.length; at += AT_ONCE)
      items.push(...(await Promise.all(newest.slice(at, at + AT_ONCE).map(listed))));
    return { items };
  }

  async function findRun(runId: string): Promise<RunRecord | undefined> {
    for (const { agentId } of await accounts.listAgents()) {
      const run = await runs.get(agentId, runId);
      if (run) return run;
    }
    return undefined;
  }

  async function listEntries(
    whose: Pick<AuditFilter, "agentId" | "orgId">,
    { since, limit = NEWEST, ...query }: AuditQuery,
  ): Promise<ListedAuditPage> {
    const from = since === undefined ? {} : { since: parseSince(since, Date.now()) };
    const items: AuditRow[] = [];
    let { cursor } = query;
    // A page of a search can be short when matching entries are rare.
    do {
      const next = cursor === undefined ? {} : { cursor };
      const page = await audit.list({ ...query, ...whose, ...from, ...next, limit: limit - items.length });
      items.push(...page.items);
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined && items.length < limit);
    const listed = items.map(({ at, ...entry }) => ({ ...entry, at: new Date(at).toISOString() }));
    return { items: listed, nextCursor: cursor ?? null };
  }

  return {
    async listRuns(agentId, { limit = NEWEST } = {}) {
      found(await accounts.getAgent(agentId), "agent", agentId, "agents list");
      return await listedAll(await runs.list(agentId, { limit }));
    },

    async runsOfRequest(requestId, { agentId, limit = NEWEST } = {}) {
      if (agentId !== undefined) found(await accounts.getAgent(agentId), "agent", agentId, "agents list");
      return await listedAll(await runs.ofRequest(requestId, { limit, ...(agentId !== undefined && { agentId }) }));
    },

    async showRun(runId) {
      const run = found(await findRun(runId), "run", runId, "runs list --agent ID");
      const events = await runs.events(runId, 0, ALL_EVENTS);
      return { ...(await listed(run)), items: events.map(({ body }) => JSON.parse(body) as unknown) };
    },

    listAudit: (agentId, query = {}) => listEntries({ agentId }, query),

    async listAdministration(orgId, query = {}) {
      found(await accounts.getOrg(orgId), "organisation", orgId, "orgs list");
      return listEntries({ orgId }, query);
    },

    runAccess: (agentId, runId) => readAccess(store, agentId, runId),

    async *storedCalls(agentId, last) {
      found(await accounts.getAgent(agentId), "agent", agentId, "agents list");
      const manifests = new Map<string, Manifest | undefined>();
      let cursor: string | null | undefined;
      for (let left = last; left > 0 && cursor !== null; left -= CALLS_AT_ONCE) {
        const limit = Math.min(left, CALLS_AT_ONCE);
        const page = await store.calls.newest(agentId, { limit, ...(cursor !== undefined && { cursor }) });
        for (const call of page.items) {
          const hash = call.manifestHash ?? "";
          if (!manifests.has(hash)) manifests.set(hash, await store.runtimes.getManifest(agentId, hash));
          yield { ...call, manifest: manifests.get(hash) };
        }
        cursor = page.nextCursor;
      }
    },
  };
}

function listedRun(run: RunRecord): Omit<ListedRun, "costUsd"> {
  const {
    runId,
    agentId,
    threadId,
    requestId = null,
    status,
    role,
    request,
    result,
    createdAt,
    startedAt,
    finishedAt,
    waitedMs = 0,
  } = run;
  return {
    runId,
    agentId,
    threadId,
    requestId,
    status,
    role: role ?? null,
    code: result?.code ?? null,
    query: request.query,
    durationMs: finishedAt === undefined ? null : Math.max(0, finishedAt - createdAt - waitedMs),
    createdAt: new Date(createdAt).toISOString(),
    startedAt: startedAt === undefined ? null : new Date(startedAt).toISOString(),
    finishedAt: finishedAt === undefined ? null : new Date(finishedAt).toISOString(),
  };
}

const ALL_ENTRIES = 10_000;

/** The functions that were visible to and hidden from the role of a run, and the decisions on its calls. */
interface RunAccess {
  runId: string;
  role: string | null;
  visible: string[];
  hidden: string[];
  /** In the order of the calls; empty once the run is deleted. `rule` refused the call; `redacted` fields were removed. */
  calls: { functionName: string; rule: string | null; redacted: string[] }[];
}

/** Reads the audit log and the function set that it refers to. Undefined when one of them is missing. */
async function readAccess(
  { audit, runs, runtimes }: Store,
  agentId: string,
  runId: string,
): Promise<RunAccess | undefined> {
  const { items } = await audit.list({ agentId, runId, limit: ALL_ENTRIES });
  const start = items.find(({ manifestHash }) => manifestHash !== undefined);
  if (start?.manifestHash === undefined) return undefined;
  const manifest = await runtimes.getManifest(agentId, start.manifestHash);
  if (!manifest) return undefined;
  const { role } = start;
  const names = (visible: boolean) =>
    manifest.functions.filter((one) => rolesAllow(one.roles, role) === visible).map(({ name }) => name);
  const { calls } = await runs.checkpoint(runId);
  return {
    runId,
    role: role ?? null,
    visible: names(true).toSorted(),
    hidden: names(false).toSorted(),
    calls: calls
      .toSorted((a, b) => a.step - b.step || a.position - b.position)
      .map(({ callId, functionName }) => ({
        functionName,
        ...decisionsOn(items.filter((row) => row.callId === callId)),
      })),
  };
}

function decisionsOn(rows: readonly AuditRow[]): { rule: string | null; redacted: string[] } {
  const rule = rows.find(({ action }) => action === "call.denied")?.rule ?? null;
  const members = rows.find(({ action }) => action === "call.redacted")?.detail?.["members"];
  return { rule, redacted: Array.isArray(members) ? members.map(String) : [] };
}
