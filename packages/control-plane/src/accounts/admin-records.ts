import type { RunStatus } from "@patchbay/protocol";
import type { AuditEntry, RunRecord } from "../ports/records.ts";
import type { Store } from "../ports/stores.ts";
import { found } from "./admin-error.ts";

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

/** What happened: runs and the audit log, newest first. */
export interface RecordAdmin {
  listRuns(agentId: string, options?: { limit?: number }): Promise<{ items: ListedRun[] }>;
  /** `items`: the run's events in order, as endpoint 2 sends them. */
  showRun(runId: string): Promise<ListedRun & { items: unknown[] }>;
  listAudit(agentId: string, options?: { runId?: string; limit?: number }): Promise<{ items: ListedAudit[] }>;
}

export function recordAdmin({ accounts, audit, runs }: Store): RecordAdmin {
  async function findRun(runId: string): Promise<RunRecord | undefined> {
    for (const { agentId } of await accounts.listAgents()) {
      const run = await runs.get(agentId, runId);
      if (run) return run;
    }
    return undefined;
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

    async listAudit(agentId, { runId, limit = NEWEST } = {}) {
      const rows = await audit.list({ agentId, limit, ...(runId !== undefined && { runId }) });
      return { items: rows.map(({ at, ...entry }) => ({ ...entry, at: new Date(at).toISOString() })) };
    },
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
