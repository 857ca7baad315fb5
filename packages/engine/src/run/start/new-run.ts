import { monotonicMs, randomBytes, wallMs } from "@patchbay/kit/time";
import { present } from "@patchbay/kit";
import type { FunctionSession } from "../../ports/function-gateway.ts";
import type { ChosenModel } from "../../ports/model-provider.ts";
import type { Caller } from "../../ports/callers.ts";
import type { RunRecord } from "../../ports/records.ts";
import { type NewRun, NO_HISTORY, recordOf } from "../../ports/store/run-store.ts";
import type { Principal, Query, RunHandle } from "../api.ts";
import { identityIn } from "./claimed.ts";
import { digestOf, pseudonymsOf } from "../calls/audit-digests.ts";
import { runEntry } from "../calls/journal.ts";
import { nextReservation } from "../loop/cost.ts";
import { systemText } from "../loop/request.ts";
import { createProgress, createState, functionsOf, type NextTurn } from "../state.ts";
import type { Prepared } from "./prepare.ts";
import { type fallbackModels, type Settled, TEST_CALL } from "./settings.ts";

/** A run's services, and what they made from its context. */
export interface Connected {
  session: FunctionSession;
  prepared: Prepared;
  /** With the run's role, which may be the service's default. */
  caller: Caller;
}

/** The result of a query's checks. */
export interface Checked extends Connected {
  chosen: ChosenModel;
  fallback: ReturnType<typeof fallbackModels>;
}

/** A query with the time left until its deadline, which includes the wait for a runtime. */
export type Timed = Query & { leftMs(): number };

/** Measures with a monotonic clock: an administrator may set the system clock past the deadline. */
export function timed(query: Query, timeoutMs: number): Timed {
  const beganAt = monotonicMs();
  return { ...query, leftMs: () => Math.max(1, Math.round(timeoutMs - (monotonicMs() - beganAt))) };
}

/** A query's run before its checks. */
export function newRun(
  principal: Principal,
  query: Query & { reported?: boolean },
  { wanted, request }: Settled,
  lease: Pick<NewRun, "timeoutMs" | "owner" | "leaseMs">,
): NewRun {
  const { orgId, agentId, keyId, keyLabel, proven } = principal;
  const { query: text, context = {}, analysisMode, threadId, externalThread, testCall, repeats, warnings = [] } = query;
  const { role, instructions, sessionId, requestId, quoted, cancelWhenGone, resumable, reported, task } = query;
  const provenSubject = proven?.subject ?? repeats?.request.provenSubject;
  const callerId = proven?.ids[0] ?? repeats?.callerId;
  return {
    runId: newId("run"),
    orgId,
    agentId,
    keyId,
    threadId: threadId ?? newId("thr"),
    newThread: threadId === undefined,
    kind: testCall ? "call" : task ? "task" : "query",
    audit: [],
    request: {
      query: text,
      context,
      analysisMode,
      provider: testCall ? TEST_CALL : (wanted.provider ?? ""),
      model: testCall ? TEST_CALL : (wanted.model ?? ""),
      system: "",
      charged: false,
      warnings: [...warnings],
      ...request,
      ...present({
        role,
        instructions,
        keyLabel,
        provenSubject,
        caller: identityIn(principal, query),
        quoted,
        testCall,
        rerunOf: repeats && originOf(repeats),
      }),
      ...(cancelWhenGone && { cancelWhenGone }),
      ...(resumable && { resumable }),
      ...(reported && { reported }),
      ...(task && { task }),
    },
    ...lease,
    ...(threadId === undefined && externalThread && { threadKey: externalThread }),
    ...present({ requestId, sessionId, callerId, idempotency: query.idempotency }),
  };
}

/**
 * Adds the results of its checks to a run, which stay the same from here on, and a charged run's first turn in a new
 * thread: the store reserves its credit together with the run.
 */
export function complete(
  asked: NewRun,
  checked: Checked,
  {
    instructions,
    charged,
    auditKey,
    adapter,
  }: Pick<Query, "adapter"> & {
    instructions: string;
    charged: boolean;
    auditKey: string;
  },
): { run: NewRun; next?: NextTurn } {
  const { chosen, fallback, prepared, caller } = checked;
  const { role: stated, ...request } = asked.request;
  const { manifest, manifestHash } = prepared.set;
  const subject = subjectOf(prepared.subject, request.provenSubject);
  const auditSalt = randomBytes(16).toString("hex");
  const run: NewRun = {
    ...asked,
    manifestHash,
    ...present({ subject }),
    request: {
      ...request,
      ...caller,
      ...(stated === undefined && { roleByDefault: true }),
      auditSalt,
      modelContext: prepared.modelContext,
      provider: chosen.provider.name,
      model: chosen.model,
      ...(fallback.models.length > 0 && { fallback: fallback.models }),
      system: systemText([request.instructions ?? instructions, manifest.instructions], {
        isTask: request.task === true,
        respond: request.responseSchema && functionsOf({ ...asked, ...caller }, manifest).respond?.name,
      }),
      charged,
      warnings: [...request.warnings, ...fallback.warnings, ...prepared.warnings],
    },
  };
  const detail = {
    ...(request.instructions !== undefined && { ownInstructions: true }),
    ...present({ caller: request.provenSubject, adapter }),
    ...pseudonymsOf(auditKey, run),
    model: `${chosen.provider.name}/${chosen.model}`,
    digests: { context: digestOf(auditSalt, caller.context) },
  };
  run.audit = [runEntry(run, "run.started", { manifestHash, detail })];
  // A turn with earlier runs cannot be priced here: its history is not loaded.
  if (!charged || !run.newThread || run.request.rerunOf) return { run };
  const progress = createProgress(unstarted(run, 0));
  const state = createState(progress, { model: chosen, manifest, history: NO_HISTORY });
  run.reserveMicros = nextReservation(state)?.micros ?? 0;
  return { run, ...(state.next && { next: state.next }) };
}

/**
 * A proven caller's history has no runs from others, also where several callers share the subject that the services
 * name.
 */
export const subjectOf = (services: string | undefined, caller: string | undefined): string | undefined =>
  caller === undefined ? services : JSON.stringify({ ...present({ services }), caller });

/** A rerun of a rerun or of a retry uses the first origin's history. */
const originOf = ({ runId, threadId, request: { rerunOf, retryOf } }: NonNullable<Query["repeats"]>) => ({
  runId,
  history: rerunOf?.history ?? { threadId, before: retryOf?.continues[0] ?? runId },
});

/** The record for a run that is not stored. */
export const unstarted = (run: NewRun, now: number): RunRecord =>
  recordOf(run, { status: "queued", fence: 0, createdAt: now, deadlineAt: now });

const RANDOM_BYTES = 8;
const IDS_PER_MILLISECOND = 0x1_0000;

/** Random bytes for further ids: requesting them one id at a time costs more than the rest of the id. */
let stock = Buffer.alloc(0);
let used = 0;
let lastMs = 0;
let sequence = 0;

/**
 * A typed id with 32 hex digits, for example `run_019f…`: 12 for the millisecond, 4 for this process's sequence within
 * it, and 16 random ones. Waiting runs start in id order, also those from the same millisecond. Ids from the same time
 * are adjacent in database indexes, so that a commit writes few pages.
 */
export function newId(prefix: "run" | "thr" | "call"): string {
  if (used === stock.length) {
    stock = randomBytes(256 * RANDOM_BYTES);
    used = 0;
  }
  const now = wallMs();
  // A clock that is set back must not place a new run before the waiting ones.
  if (now > lastMs || ++sequence === IDS_PER_MILLISECOND) {
    lastMs = Math.max(now, lastMs + 1);
    sequence = 0;
  }
  const time = lastMs.toString(16).padStart(12, "0");
  const order = sequence.toString(16).padStart(4, "0");
  return `${prefix}_${time}${order}${stock.toString("hex", used, (used += RANDOM_BYTES))}`;
}

/** The handle that the query's sender gets. */
export const handleOf = ({ runId, threadId, agentId, request: { role } }: NewRun): RunHandle => ({
  runId,
  threadId,
  agentId,
  ...present({ role }),
});
