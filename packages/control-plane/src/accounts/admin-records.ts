import type { RunStatus } from "@patchbay/protocol";
import type { AuditEntry, RunRecord } from "../ports/records.ts";
import type { AuditFilter, AuditRow, Store } from "../ports/stores.ts";
import { found } from "./admin-error.ts";
import { readAccess, type RunAccess } from "./run-access.ts";
import { parseSince } from "./since.ts";

const NEWEST = 100;
const ALL_EVENTS = 10_000;

export interface ListedRun {
  runId: string;
  agentId: string;
  threadId: string;
  status: RunStatus;
  role: string | null;
  /** Why it failed. */
  code: string | null;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
}

/** One entry of the audit log; `at` is a time as text. */
export type ListedAudit = AuditEntry & { id: string; at: string };

export interface ListedAuditPage {
  items: ListedAudit[];
  nextCursor: string | null;
}

/** What is wanted of the audit log. `since` is a time as text, or how long ago (`24h`). */
export interface AuditQuery extends Omit<AuditFilter, "since" | "until" | "agentId" | "orgId"> {
  since?: string;
  /** Default 100. */
  limit?: number;
  /** `nextCursor` of the page before. */
  cursor?: string;
}

/** What happened: runs and the audit log, newest first. */
export interface RecordAdmin {
  listRuns(agentId: string, options?: { limit?: number }): Promise<{ items: ListedRun[] }>;
  /** `items`: the run's events in order, as endpoint 2 sends them. */
  showRun(runId: string): Promise<ListedRun & { items: unknown[] }>;
  listAudit(agentId: string, query?: AuditQuery): Promise<ListedAuditPage>;
  /** What was administered in an organisation, its agents included. */
  listAdministration(orgId: string, query?: AuditQuery): Promise<ListedAuditPage>;
  /** Undefined when the audit log knows no such run of the agent, or the run had no functions. */
  runAccess(agentId: string, runId: string): Promise<RunAccess | undefined>;
}

export function recordAdmin(store: Store): RecordAdmin {
  const { accounts, audit, runs } = store;
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
    // A page of a search is short where what is asked for is rare.
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
      return { items: (await runs.list(agentId, { limit })).map(listedRun) };
    },

    async showRun(runId) {
      const run = found(await findRun(runId), "run", runId, "runs list --agent ID");
      const events = await runs.events(runId, 0, ALL_EVENTS);
      return { ...listedRun(run), items: events.map(({ body }) => JSON.parse(body) as unknown) };
    },

    listAudit: (agentId, query = {}) => listEntries({ agentId }, query),

    async listAdministration(orgId, query = {}) {
      found(await accounts.getOrg(orgId), "organisation", orgId, "orgs list");
      return listEntries({ orgId }, query);
    },

    runAccess: (agentId, runId) => readAccess(store, agentId, runId),
  };
}

function listedRun(run: RunRecord): ListedRun {
  const { runId, agentId, threadId, status, role, result, createdAt, startedAt, finishedAt } = run;
  return {
    runId,
    agentId,
    threadId,
    status,
    role: role ?? null,
    code: result?.code ?? null,
    createdAt: new Date(createdAt).toISOString(),
    startedAt: startedAt === undefined ? null : new Date(startedAt).toISOString(),
    finishedAt: finishedAt === undefined ? null : new Date(finishedAt).toISOString(),
  };
}
