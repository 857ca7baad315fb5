import { present } from "@patchbay/kit";
import { type RetryResponse, type RunErrorCode, type RunStatus } from "@patchbay/protocol";
import type { CallRecord, RunRecord, TurnRecord } from "../../ports/records.ts";
import type { NewRun, RunStore } from "../../ports/store/run-store.ts";
import { ServiceError } from "../../ports/service-error.ts";
import type { Store } from "../../ports/store/stores.ts";
import type { Principal, RetryOptions } from "../api.ts";
import { runEntry } from "../calls/journal.ts";
import { LEASE_MS } from "../worker/leases.ts";
import { newId } from "./new-run.ts";
import { asClaimed } from "./claimed.ts";

const RETRYABLE: ReadonlySet<RunErrorCode | undefined> = new Set([
  "provider_error",
  "deadline_exceeded",
  "agent_session_not_found",
]);
/** True for a run that has not ended. */
export const isOpen = (status: RunStatus): boolean => ["queued", "running", "waiting"].includes(status);

/**
 * The run that retries a failed one. It continues the newest run among the failed one and its retries, and repeats no
 * step of any. Throws `conflict` for a run that cannot be retried.
 */
export async function planRetry(
  principal: Principal,
  failed: RunRecord,
  options: RetryOptions & { owner: string; timeoutMs: number },
  runs: Pick<RunStore, "newestOf" | "checkpoint">,
): Promise<NewRun> {
  const { orgId, agentId, keyId, keyLabel } = principal;
  const { runId: retried, threadId, sessionId, role, subject, callerId, request } = failed;
  // Refuses a token that proves another caller than the failed run's.
  asClaimed(principal, { context: request.context, ...present({ role }) });
  const newest = await runs.newestOf(agentId, threadId);
  if (!newest) throw new ServiceError("not_found", "Run not found");
  refuse(failed, newest, options.byMember === true);
  const continues = [...(newest.request.retryOf?.continues ?? []), newest.runId];
  const { turns } = await continued(continues, runs);
  if (turns.length === 0) throw conflict(failed, "it has no stored turn that it could continue. Send its query again");

  const { cancelWhenGone: _, reported: __, modelContext: ___, keyLabel: ____, ...kept } = request;
  const afterCrashLoop = codeOf(newest) === "crash_loop" || newest.request.retryOf?.afterCrashLoop;
  const { idempotency, requestId, owner, timeoutMs } = options;
  const run: NewRun = {
    runId: newId("run"),
    orgId,
    agentId,
    keyId,
    threadId,
    owner,
    timeoutMs,
    newThread: false,
    kind: "query",
    leaseMs: LEASE_MS,
    audit: [],
    retries: newest.runId,
    request: {
      ...kept,
      system: "",
      charged: false,
      warnings: [],
      ...present({ keyLabel }),
      ...(options.reported && { reported: true }),
      retryOf: { runId: retried, continues, ...(afterCrashLoop && { afterCrashLoop }) },
    },
    ...present({ sessionId, subject, callerId, requestId, idempotency }),
  };
  run.audit = [
    runEntry(run, "run.retried", { detail: { retryOf: retried, ...present({ adapter: options.adapter }) } }),
  ];
  return run;
}

function refuse(failed: RunRecord, newest: RunRecord, byMember: boolean): void {
  const { kind, runId, status } = failed;
  const code = codeOf(failed);
  if (isOpen(status)) throw conflict(failed, "it has not ended");
  if (kind !== "query") throw conflict(failed, "it has no turns of a model");
  if (code !== "crash_loop" && !RETRYABLE.has(code)) throw conflict(failed, `it ended with ${code ?? status}`);
  const isRetry = newest.runId === runId || newest.request.retryOf?.continues.includes(runId);
  if (!isRetry) throw conflict(failed, `its thread continued with run ${newest.runId}`);
  if (isOpen(newest.status)) throw conflict(failed, `its retry ${newest.runId} has not ended`);
  if (newest.status === "succeeded") throw conflict(failed, `its retry ${newest.runId} succeeded`);
  if (code !== "crash_loop" && codeOf(newest) !== "crash_loop") return;
  if (!byMember) throw conflict(failed, "it ended its process repeatedly, so that only a member may retry it");
  if (newest.request.retryOf?.afterCrashLoop)
    throw conflict(failed, "it ended its process repeatedly and was retried before");
}

const codeOf = ({ result }: RunRecord): RunErrorCode | undefined => result?.code;

const conflict = ({ runId, status }: RunRecord, why: string): ServiceError =>
  new ServiceError("conflict", `Run ${runId} cannot be retried: ${why}.`, { status });

/** The error for a run that was followed by another while its retry was stored. */
export const overtaken = (failed: RunRecord): ServiceError =>
  conflict(failed, "another run has begun on its thread meanwhile");

/**
 * A run's turns and calls, after those of the runs that it continues: these have the first `continuedCalls` calls and
 * `continuedTurns` turns.
 */
export async function recallRun(
  { runId, request: { retryOf } }: Pick<RunRecord, "runId" | "request">,
  runs: Pick<RunStore, "checkpoint">,
): Promise<{ turns: TurnRecord[]; calls: CallRecord[]; continuedCalls: number; continuedTurns: number }> {
  const { turns, calls } = await runs.checkpoint(runId);
  if (!retryOf) return { turns, calls, continuedCalls: 0, continuedTurns: 0 };
  const before = await continued(retryOf.continues, runs);
  if (before.turns.length === 0) throw new Error("The turns of the runs that this run continues are no longer stored.");
  return {
    turns: [...before.turns, ...turns],
    calls: [...before.calls, ...calls],
    continuedCalls: before.calls.length,
    continuedTurns: before.turns.length,
  };
}

/**
 * The turns and calls of the runs that a retry continues. Their usage counts for them, and as nothing here. No turns if
 * the first ones are no longer stored.
 */
async function continued(
  runIds: readonly string[],
  runs: Pick<RunStore, "checkpoint">,
): Promise<{ turns: TurnRecord[]; calls: CallRecord[] }> {
  const turns: TurnRecord[] = [];
  const calls: CallRecord[] = [];
  for (const runId of runIds) {
    const stored = await runs.checkpoint(runId);
    while (stored.turns.length > 0 && isUnusable(stored.turns.at(-1)!)) stored.turns.pop();
    turns.push(...stored.turns.map((turn) => ({ ...turn, usage: NOTHING, costMicros: 0 })));
    calls.push(...stored.calls);
  }
  return turns.every(({ step }, at) => step === at) ? { turns, calls } : { turns: [], calls: [] };
}

const NOTHING = { input: 0, cachedInput: 0, output: 0 };

/**
 * A turn that was stored for its cost when its run ended: nothing answers it, and it is not sent back to the model. One
 * that paused has its provider's blocks, with which the provider continues.
 */
function isUnusable({ messages }: TurnRecord): boolean {
  const last = messages.at(-1);
  return !last || (last.role === "assistant" && last.calls.length === 0 && !last.echo);
}

/** The sender for a retry that the operator makes on the database. */
const OPERATOR = { keyId: "command", tier: "" };

/**
 * Stores a retry on the database, as the operator. A server on the database begins it within a second; the run's time
 * limit counts from now. Throws `ServiceError` `not_found` for an unknown run, and `conflict` for one that cannot be
 * retried.
 */
export async function retryRun(
  { accounts, runs }: Pick<Store, "accounts" | "runs">,
  runId: string,
): Promise<RetryResponse> {
  for (const { agentId, orgId } of await accounts.listAgents()) {
    const failed = await runs.get(agentId, runId);
    if (!failed) continue;
    const { createdAt, deadlineAt, waitedMs = 0 } = failed;
    // It is stored without a lease: its owner is the server that claims it.
    const lease = { owner: OPERATOR.keyId, timeoutMs: deadlineAt - createdAt - waitedMs };
    const options = { byMember: true, reported: true, ...lease };
    const run = await planRetry({ ...OPERATOR, agentId, orgId }, failed, options, runs);
    const started = await runs.start({ ...run, mustWait: true });
    if (started.kind !== "started") throw overtaken(failed);
    return { success: true, runId: run.runId, threadId: run.threadId, retryOf: runId };
  }
  throw new ServiceError("not_found", `Run ${runId} was not found. Run "patchbay runs list --agent ID" to list them.`);
}
