import { monotonicMs } from "@patchbay/kit/time";
import { type Manifest, type RunErrorCode, type RunStatus } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { CallerToken } from "../../ports/callers.ts";
import type { Clock } from "../../ports/clock.ts";
import { RunMoved } from "../../ports/function-gateway.ts";
import { QUARANTINE_CLAIMS } from "../../ports/quarantine.ts";
import type { AuditEntry, RunRecord } from "../../ports/records.ts";
import { type History, LeaseLost } from "../../ports/store/run-store.ts";
import type { Segment } from "../../ports/tracing.ts";
import { answered, type Ending, failed } from "../answer.ts";
import { recallFlow } from "../calls/flow.ts";
import { closeApprovals, type Decided } from "../calls/approval.ts";
import {
  callEntries,
  createJournal,
  detailOf,
  type Journal,
  type JournalEntry,
  reportOf,
  runEntry,
} from "../calls/journal.ts";
import { converse, unfinishedEntry } from "../loop/loop.ts";
import { historyOf } from "../loop/request.ts";
import { modelsOf } from "../loop/respond.ts";
import { observeRun } from "../observer.ts";
import { type RunContext, withRetry } from "../run-context.ts";
import { crashLoop, RunFailure, sessionNotFound } from "../run-failure.ts";
import {
  type ActiveRun,
  createProgress,
  createState,
  functionsOf,
  historyBytes,
  historyScope,
  type NextTurn,
  type Progress,
  type RunState,
} from "../state.ts";
import { equip } from "../start/equip.ts";
import { recallRun } from "../start/retry.ts";
import { isSuspect } from "./quarantine.ts";

/** What the process that accepted a run already has in memory. A claimed run reads it from the store. */
export interface AtHand {
  manifest?: Manifest;
  history?: History;
  /** The first turn, as its credit was reserved. */
  next?: NextTurn;
  /** Micro-USD reserved for the first turn. */
  reservedMicros?: number;
  segment?: Segment;
  /** The caller's token, for functions that need it. */
  token?: CallerToken;
}

/** How the work on a run ended here. `waits`: for an approval or a detached function. `left`: its end could not be stored. */
export type Outcome = "ended" | "waits" | "moved" | "left";

const ALARMING: ReadonlySet<RunErrorCode> = new Set(["internal", "crash_loop"]);

/**
 * Works on a leased run up to its last event, and stores that, or until it waits. Never rejects. Every
 * error ends the run, except a lost lease and a hand-over: then the next owner continues the run.
 */
export async function runToEnd(
  run: RunRecord,
  atHand: AtHand,
  context: RunContext,
  signal: AbortSignal,
): Promise<Outcome> {
  using _owned = context.feed.own(run.runId, run.lastSeq, { begun: atHand.manifest !== undefined });
  // Before the first wait: a reader that comes from now on lets the run continue.
  const claimed = atHand.manifest ? {} : { readerKnown: context.readers.claimed(run, signal) };
  const segment = atHand.segment ?? (await resumeSegment(run, context));
  // Awaited: the ownership would otherwise end with the return, before the work.
  if (!segment) return await work(run, atHand, { ...activate(run, context, signal), ...claimed });
  const active = { ...activate(run, context, signal), ...claimed, segment };
  const outcome = await segment.run(() => work(run, atHand, active));
  segment.end(outcome);
  return outcome;
}

/** The row names the segment before its work begins, so that after a crash the next segment links to it. */
async function resumeSegment(run: RunRecord, { tracing, runs, log }: RunContext): Promise<Segment | undefined> {
  const segment = tracing?.resume(run);
  if (!segment) return undefined;
  await runs.recordSegment(run, segment.trace).catch((cause: unknown) => {
    log.warn("the trace of a run could not be stored", { runId: run.runId, cause });
  });
  return segment;
}

async function work(run: RunRecord, atHand: AtHand, active: ActiveRun): Promise<Outcome> {
  const { journal, log, observer, segment, signal } = active;
  let progress: Progress | undefined;
  try {
    let entry: JournalEntry | undefined;
    let ending: Ending;
    let state: RunState | undefined;
    let detail = {};
    try {
      // The state of a run that crashes its process is not loaded, not even to end the run: loading may be what
      // crashes.
      const crashed = run.claims > QUARANTINE_CLAIMS ? crashLoop(run.crashes) : undefined;
      const load = isSuspect(run) && (crashed || signal.aborted) ? outline : recall;
      const known = (progress = await withRetry(() => load(run, active), active));
      // The run may have been cancelled while the store was unavailable.
      signal.throwIfAborted();
      if (crashed) throw crashed;
      if (run.request.retryOf && run.manifestHash === undefined) {
        await equip(run, active);
        for (const warning of run.request.warnings) known.warnings.add(warning);
      }
      const begun = (state = await withRetry(() => restore(known, atHand, active), active));
      // Deltas are sent before a turn is complete, so that no hook could check them.
      if (state.answerHooks.length > 0) segment?.withholdTexts();
      const shown = state.answerHooks.length > 0 ? withoutDeltas(journal) : journal;
      const answer = await converse(begun, { ...active, journal: shown });
      if (!answer) {
        await journal.write({ wait: { remainingMs: active.remainingMs(), heldBy: begun.heldBy } });
        log.info("run waits");
        return "waits";
      }
      entry = answer.last;
      ending = answered(begun, answer, elapsed(run, active.clock), active.limits);
    } catch (error) {
      // After an abort, parts of the run fail with their own errors. The abort's reason is the cause.
      const cause = signal.aborted ? signal.reason : error;
      if (cause instanceof RunMoved) return moved(cause, active);
      const failure = cause instanceof RunFailure ? cause : new RunFailure("internal", "Internal error", { cause });
      log[ALARMING.has(failure.code) ? "error" : "debug"]("run failed", { code: failure.code, cause: failure.cause });
      entry ??= state && (state.asking.unstored ?? unfinishedEntry(state, active));
      const known = progress && { state: progress, limits: active.limits };
      ending = failed(run, failure, elapsed(run, active.clock), known);
      detail = detailOf(failure);
    }
    const closed = await closeApprovals(run.runId, progress, active);
    await journal.write(finish(run, progress, ending, detail, withDecisions(entry, closed)));
    const { code } = ending.result;
    for (const call of openCalls(progress)) {
      if (code) observer.callInterrupted(call, code);
      const { callId, instanceId, runsUntil } = call;
      if (runsUntil !== undefined) active.gateway.stop({ agentId: run.agentId, callId, instanceId: instanceId! });
    }
    observer.ended(ending.result, progress);
    segment?.result(ending.result);
    return "ended";
  } catch (error) {
    if (error instanceof LeaseLost) return moved(error, active);
    log.error("run could not be ended, left for recovery", { cause: error });
    return "left";
  }
}

function activate(run: RunRecord, context: RunContext, signal: AbortSignal): ActiveRun {
  const { clock } = context;
  const log = context.log.child({ runId: run.runId, agentId: run.agentId });
  const resumed = run.fence > 1 ? [runEntry(run, "run.resumed", { detail: { crashes: run.crashes } })] : [];
  // Measured with a monotonic clock: an administrator may set the system clock past the deadline.
  const endsAt = monotonicMs() + run.deadlineAt - clock.now();
  return {
    ...context,
    log,
    signal,
    journal: createJournal(run, { ...context, log }, signal, resumed),
    observer: observeRun(run, { ...context, log }),
    remainingMs: () => endsAt - monotonicMs(),
  };
}

/** Publishes no model texts, only call progress and why the model delays. */
function withoutDeltas(journal: Journal): Journal {
  return {
    ...journal,
    live(event) {
      if (event.type === "toolProgress" || event.type === "modelStatus") journal.live(event);
    },
  };
}

function moved(cause: RunMoved, { log, metrics }: Pick<ActiveRun, "log" | "metrics">): "moved" {
  if (cause instanceof LeaseLost) metrics.leaseLost();
  log[cause instanceof LeaseLost ? "warn" : "info"]("run moved to another owner", { cause: cause.message });
  return "moved";
}

/** Usage and call count, for the end of a run whose state is not loaded. */
async function outline(run: RunRecord, { runs }: RunContext): Promise<Progress> {
  const { turns, calls } = await runs.outline(run.runId);
  return { ...createProgress(run, turns), leftOut: calls };
}

/** The progress that earlier owners stored, after that of the runs that it continues. */
async function recall(run: RunRecord, { runs }: RunContext): Promise<Progress> {
  const { retryOf } = run.request;
  if (run.fence <= 1 && !retryOf) return createProgress(run);
  const { turns, calls, ...continued } = await recallRun(run, runs);
  return { ...createProgress(run, turns, calls), ...continued };
}

async function restore(progress: Progress, atHand: AtHand, { runs, runtimes, models }: RunContext): Promise<RunState> {
  const { run } = progress;
  const chosen = modelsOf(run, progress.turns, models);
  const manifest =
    atHand.manifest ?? (run.manifestHash ? await runtimes.getManifest(run.agentId, run.manifestHash) : undefined);
  if (!manifest) throw sessionNotFound();
  const maxBytes = historyBytes(run, functionsOf(run, manifest).shown, chosen.model);
  const { threadId, ...scope } = historyScope(run);
  const history = atHand.history ?? (await runs.history(threadId, { ...scope, maxBytes }));
  const flow = await recallFlow(run, manifest, history.entries, runs);
  if (flow) progress.labels = flow.labels;
  return createState(progress, { ...atHand, ...chosen, manifest, history, flow });
}

/** The entry for a run's end, with the decisions that the run did not reach. */
const withDecisions = (entry: JournalEntry | undefined, decided: Decided | undefined): JournalEntry => ({
  ...entry,
  ...decided,
  events: [...(entry?.events ?? []), ...(decided?.events ?? [])],
});

/** Calls that the run's end interrupted. The audit log records them as cancelled. */
const openCalls = (progress: Progress | undefined) => (progress?.calls ?? []).filter(({ outcome }) => !outcome);

function finish(
  run: RunRecord,
  progress: Progress | undefined,
  ending: Ending,
  detail: Pick<AuditEntry, "detail">,
  last: JournalEntry = {},
): JournalEntry {
  const { result, event } = ending;
  const open = openCalls(progress);
  const sent = open.filter(({ sentAt }) => sentAt !== undefined);
  const status = result.success ? "succeeded" : result.code === "cancelled" ? "cancelled" : "failed";
  const answer = result.success ? result.response : `(This query ended with an error: ${result.errorMessage}.)`;
  return {
    ...last,
    // Otherwise only an outcome would store their send times.
    ...(sent.length > 0 && { calls: sent }),
    events: [...(last.events ?? []), event],
    finish: {
      status,
      result,
      history: progress ? historyOf(progress, answer) : [],
      // A query that did not reach a model may be sent again with the same key.
      releaseIdempotencyKey: !result.success && !wasAsked(run, progress),
      ...reportOf(run, status, result),
      ...present({ unanswered: progress?.asking.turn, replaces: replacedBy(run, progress, status) }),
    },
    audit: [
      ...(last.audit ?? []),
      ...open.flatMap((call) => callEntries(run, call)),
      result.success
        ? runEntry(run, "run.succeeded")
        : runEntry(run, "run.failed", { rule: result.code ?? "internal", ...detail }),
    ],
  };
}

/** The runs whose history this one contains, if its own history counts: see `countsAsHistory`. */
function replacedBy({ request: { retryOf } }: RunRecord, progress: Progress | undefined, status: RunStatus) {
  if (!retryOf || !progress || progress.leftOut !== undefined) return undefined;
  const own = progress.calls.slice(progress.continuedCalls);
  return status === "succeeded" || own.some(({ outcome }) => outcome) ? retryOf.continues : undefined;
}

/** Whether a model may have been asked. An earlier owner may have asked one without storing its turn. */
const wasAsked = ({ fence }: RunRecord, progress: Progress | undefined): boolean =>
  fence > 1 ||
  (progress !== undefined &&
    (progress.turns.length > (progress.continuedTurns ?? 0) || progress.asking.turn !== undefined));

const elapsed = (run: RunRecord, clock: Clock): number => Math.max(0, clock.now() - run.createdAt);
