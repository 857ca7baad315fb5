import { type AuditEntry, type CallRecord } from "@patchbay/engine/ports/records";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { digestOf } from "@patchbay/engine/run/calls/audit-digests";
import { isJsonObject } from "@patchbay/kit";
import type { RecordAdmin } from "./admin-records.ts";

/** The stored runs of an organisation as the audit log proves them. */
export interface CheckedRuns {
  /** Ended runs with calls, compared with their entries. */
  compared: number;
  /** Runs of earlier versions, whose entries have no digests. */
  earlier: number;
  /** One sentence each. */
  faults: string[];
}

const ALL_ENTRIES = 10_000;

/** Compares the roles, arguments, results and contexts of stored runs with the digests in the audit log. */
export async function checkRuns(
  { accounts, audit, runs }: Store,
  admin: Pick<RecordAdmin, "storedCalls">,
  orgId: string,
): Promise<CheckedRuns> {
  const checked: CheckedRuns = { compared: 0, earlier: 0, faults: [] };
  for (const { agentId } of (await accounts.listAgents()).filter((agent) => agent.orgId === orgId)) {
    const roles = new Map<string, Map<string, string | undefined>>();
    for await (const { runId, callId, role } of admin.storedCalls(agentId, {}))
      roles.set(runId, (roles.get(runId) ?? new Map<string, string | undefined>()).set(callId, role));
    for (const [runId, roleOfCall] of roles) {
      const run = await runs.get(agentId, runId);
      // Calls and entries of an open run change between the next reads.
      if (run?.finishedAt === undefined) continue;
      const { items } = await audit.list({ agentId, runId, limit: ALL_ENTRIES });
      const started = items.find((entry) => entry.action === "run.started" && digestsIn(entry));
      if (!started) {
        checked.earlier++;
        continue;
      }
      checked.compared++;
      const { auditSalt: salt = "", context, role } = run.request;
      const say = (what: string): void => void checked.faults.push(`Run ${runId}: ${what}`);
      const isOther = (digest: unknown, value: unknown): boolean => digest !== digestOf(salt, value);
      if (role !== started.role || run.role !== started.role)
        say(`its role differs from the log, which has ${named(started.role)}.`);
      if (isOther(digestsIn(started)!["context"], context)) say("its context was changed.");
      const { calls } = await runs.checkpoint(runId);
      const stored = new Map(calls.map((call) => [call.callId, call]));
      const proved = items.filter(({ callId }) => callId !== undefined).filter(digestsIn);
      for (const { callId, ...entry } of proved) {
        const call = stored.get(callId!);
        if (!call) say(`its call ${callId} is missing.`);
        else
          for (const what of changesOf(call, entry, { role: roleOfCall.get(callId!), isOther }))
            say(`${what} of its call ${callId} was changed.`);
      }
      const known = new Set(proved.map(({ callId }) => callId));
      for (const { callId, outcome } of calls)
        if (outcome && !known.has(callId)) say(`the log has no entry for its call ${callId}.`);
    }
  }
  return checked;
}

function changesOf(
  { arguments: given, outcome, functionName }: CallRecord,
  entry: AuditEntry,
  { role, isOther }: { role: string | undefined; isOther: (digest: unknown, value: unknown) => boolean },
): string[] {
  const digests = digestsIn(entry)!;
  return [
    ...(isOther(digests["arguments"], given) ? ["an argument"] : []),
    ...(isOther(digests["result"], outcome) ? ["the result"] : []),
    ...(isOther(digests["function"], functionName) ? ["the function"] : []),
    ...(outcome && role !== entry.role ? ["the role"] : []),
  ];
}

const digestsIn = ({ detail }: Pick<AuditEntry, "detail">) =>
  isJsonObject(detail?.["digests"]) ? detail["digests"] : undefined;

const named = (role: string | undefined): string => (role === undefined ? "none" : `"${role}"`);
