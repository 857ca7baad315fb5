import { rolesAllow } from "@patchbay/protocol";
import type { AuditRow, Store } from "../ports/stores.ts";

const ALL_ENTRIES = 10_000;

/** What the role of a run was shown of its function set, what was kept from it, and what became of its calls. */
export interface RunAccess {
  runId: string;
  role: string | null;
  visible: string[];
  hidden: string[];
  /** In the order asked, while the run is kept: the rule that refused it, and the members withheld. */
  calls: { functionName: string; rule: string | null; redacted: string[] }[];
}

/** Told from the audit log and the function set it names; undefined when there is none of the two. */
export async function readAccess(
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
      .map(({ callId, functionName }) => ({ functionName, ...toldOf(items.filter((row) => row.callId === callId)) })),
  };
}

function toldOf(rows: readonly AuditRow[]): { rule: string | null; redacted: string[] } {
  const rule = rows.find(({ action }) => action === "call.denied")?.rule ?? null;
  const members = rows.find(({ action }) => action === "call.redacted")?.detail?.["members"];
  return { rule, redacted: Array.isArray(members) ? members.map(String) : [] };
}
