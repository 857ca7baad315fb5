import { wallMs } from "@patchbay/kit/time";
import type { FlowFinding } from "@patchbay/access";
import { type Manifest, rolesAllow, type RunStatus } from "@patchbay/protocol";
import { isoTime, isoTimeOrNull, present } from "@patchbay/kit";
import type { AuditEntry, RunRecord } from "@patchbay/engine/ports/records";
import type { AuditFilter, AuditRow } from "@patchbay/engine/ports/store/audit";
import type { ListedCall } from "@patchbay/engine/ports/store/call-store";
import type { Page } from "@patchbay/engine/ports/store/page";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { flowReplay } from "@patchbay/engine/run/calls/replay";
import { usdOf } from "./admin-accounts.ts";
import { AdminError, agentOf, found, orgOf } from "./admin-error.ts";

const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds for a time (`2026-11-20`, `2026-11-20T09:30:00Z`) or a duration before now (`90m`, `24h`, `7d`). */
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
/** Each call is read with its result, up to 256 KiB. */
const CALLS_AT_ONCE = 20;

export interface ListedRun {
  runId: string;
  agentId: string;
  threadId: string;
  /** Id of the request that started the run: the client's `X-Request-Id`, or a new one. */
  requestId: string | null;
  status: RunStatus;
  role: string | null;
  /** A failed run's error code. */
  code: string | null;
  query: string;
  /** Milliseconds from its acceptance to its end; null before. */
  durationMs: number | null;
  /** Cost in US dollars, for all turns so far. */
  costUsd: number;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
}

/** An audit log entry. `at` is an ISO time. */
export type ListedAudit = AuditEntry & { id: string; at: string };

export type ListedAuditPage = Page<ListedAudit>;

/** Audit log filter. `since` is an ISO time or a duration before now (`24h`). */
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
  /** The runs that requests with this id started, for one agent or all. */
  runsOfRequest(
    requestId: string,
    options?: { agentId?: string | undefined; limit?: number },
  ): Promise<{ items: ListedRun[] }>;
  /** A run with its events in order, as endpoint 2 sends them. */
  showRun(runId: string): Promise<ListedRun & { items: unknown[] }>;
  listAudit(agentId: string, query?: AuditQuery): Promise<ListedAuditPage>;
  /** Administrative changes to an organisation and its agents. */
  listAdministration(orgId: string, query?: AuditQuery): Promise<ListedAuditPage>;
  /** Undefined when the audit log has no entry for the run, or when the run had no functions. */
  runAccess(agentId: string, runId: string): Promise<RunAccess | undefined>;
  /**
   * An agent's last ended calls, newest first, each with its run's function set if stored. `flows`: what the data-flow rules of each of
   * these function sets say about it.
   */
  storedCalls(
    agentId: string,
    asked: { last?: number; since?: number; cursor?: string; flows?: readonly Manifest[] },
  ): AsyncIterable<ListedCall & { manifest: Manifest | undefined; flows?: (FlowFinding | undefined)[] }>;
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

  async function listEntries(
    whose: Pick<AuditFilter, "agentId" | "orgId">,
    { since, limit = NEWEST, ...query }: AuditQuery,
  ): Promise<ListedAuditPage> {
    const from = since === undefined ? {} : { since: parseSince(since, wallMs()) };
    const items: AuditRow[] = [];
    let { cursor } = query;
    // A search page can be short when matching entries are rare.
    do {
      const page = await audit.list({ ...query, ...whose, ...from, cursor, limit: limit - items.length });
      items.push(...page.items);
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined && items.length < limit);
    const listed = items.map(({ at, ...entry }) => ({ ...entry, at: isoTime(at) }));
    return { items: listed, nextCursor: cursor ?? null };
  }

  return {
    async listRuns(agentId, { limit = NEWEST } = {}) {
      await agentOf(accounts, agentId);
      return await listedAll(await runs.list(agentId, { limit }));
    },

    async runsOfRequest(requestId, { agentId, limit = NEWEST } = {}) {
      if (agentId !== undefined) await agentOf(accounts, agentId);
      return await listedAll(await runs.ofRequest(requestId, { limit, ...present({ agentId }) }));
    },

    async showRun(runId) {
      const run = found(await findRun(store, runId), "run", runId, "runs list --agent ID");
      const events = await runs.events(runId, 0, ALL_EVENTS);
      return { ...(await listed(run)), items: events.map(({ body }) => JSON.parse(body) as unknown) };
    },

    listAudit: (agentId, query = {}) => listEntries({ agentId }, query),

    async listAdministration(orgId, query = {}) {
      await orgOf(accounts, orgId);
      return listEntries({ orgId }, query);
    },

    runAccess: (agentId, runId) => readAccess(store, agentId, runId),

    async *storedCalls(agentId, { last = Number.POSITIVE_INFINITY, flows = [], ...asked }) {
      await agentOf(accounts, agentId);
      const manifests = new Map<string, Manifest | undefined>();
      const replays = flows.map((set) => flowReplay(store, agentId, set));
      let cursor: string | null | undefined;
      for (let left = last; left > 0 && cursor !== null; left -= CALLS_AT_ONCE) {
        const limit = Math.min(left, CALLS_AT_ONCE);
        const page = await store.calls.newest(agentId, { ...asked, limit, ...present({ cursor }) });
        const found = await Promise.all(page.items.map((call) => Promise.all(replays.map((replay) => replay(call)))));
        for (const [i, call] of page.items.entries()) {
          const hash = call.manifestHash ?? "";
          if (!manifests.has(hash)) manifests.set(hash, await store.runtimes.getManifest(agentId, hash));
          yield { ...call, manifest: manifests.get(hash), ...(flows.length > 0 && { flows: found[i]! }) };
        }
        cursor = page.nextCursor;
      }
    },
  };
}

/** The run of this agent, or of any. */
export async function findRun(
  { accounts, runs }: Pick<Store, "accounts" | "runs">,
  runId: string,
  ofAgent?: string,
): Promise<RunRecord | undefined> {
  const agents = ofAgent === undefined ? await accounts.listAgents() : [{ agentId: ofAgent }];
  for (const { agentId } of agents) {
    const run = await runs.get(agentId, runId);
    if (run) return run;
  }
  return undefined;
}

function listedRun(run: RunRecord): Omit<ListedRun, "costUsd"> {
  const { runId, agentId, threadId, status, createdAt, finishedAt, waitedMs = 0 } = run;
  return {
    runId,
    agentId,
    threadId,
    requestId: run.requestId ?? null,
    status,
    role: run.role ?? null,
    code: run.result?.code ?? null,
    query: run.request.query,
    durationMs: finishedAt === undefined ? null : Math.max(0, finishedAt - createdAt - waitedMs),
    createdAt: isoTime(createdAt),
    startedAt: isoTimeOrNull(run.startedAt),
    finishedAt: isoTimeOrNull(finishedAt),
  };
}

const ALL_ENTRIES = 10_000;

/** The functions that were visible to and hidden from a run's role, and the decisions on its calls. */
interface RunAccess {
  runId: string;
  role: string | null;
  visible: string[];
  hidden: string[];
  /** In call order; empty once the run is deleted. `rule` refused the call; `redacted` fields were removed. */
  calls: { functionName: string; rule: string | null; redacted: string[] }[];
}

/** Reads the audit log and the function set that it refers to. Undefined when either is missing. */
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
    manifest.functions.filter((fn) => rolesAllow(fn.roles, role) === visible).map(({ name }) => name);
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
