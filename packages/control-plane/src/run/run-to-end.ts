import type { Manifest, OperatorLimits, RunErrorCode } from "@patchbay/protocol";
import type { Clock } from "../ports/clock.ts";
import { RunMoved, type FunctionGateway } from "../ports/function-gateway.ts";
import type { Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";
import type { ModelCatalog } from "../ports/model-provider.ts";
import type { AuditEntry, RunRecord } from "../ports/records.ts";
import { type History, LeaseLost, type RunStore } from "../ports/run-store.ts";
import type { RuntimeStore, Store } from "../ports/stores.ts";
import { answered, failed, type Ending } from "./answer.ts";
import type { Feed } from "./feed.ts";
import { callEntries, detailOf, runEntry } from "./audit.ts";
import { modelsOf } from "./fallback.ts";
import { createJournal, type Journal, type JournalEntry } from "./journal.ts";
import { converse, unfinishedEntry } from "./loop.ts";
import type { Observer } from "./observer.ts";
import { patiently } from "./patience.ts";
import { isSuspect, MOST_CLAIMS } from "./quarantine.ts";
import { crashLoop, RunFailure, sessionNotFound } from "./run-failure.ts";
import {
  createProgress,
  createState,
  functionsOf,
  historyBytes,
  historyOf,
  type Progress,
  type RunState,
} from "./state.ts";

export interface RunDeps {
  runs: RunStore;
  runtimes: RuntimeStore;
  gateway: FunctionGateway;
  models: ModelCatalog;
  feed: Feed;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  observe: Observer;
  limits: OperatorLimits;
  /** Silence after which a model provider is given up, in milliseconds. Default 60,000. */
  providerIdleMs?: number;
  /** Does the work as one organisation. */
  within: Store["within"];
}

/** What is known of a run where it was accepted. Of a run that was claimed it is read from the store. */
export interface AtHand {
  manifest?: Manifest;
  history?: History;
  /** Micro-USD held for its first turn. */
  heldMicros?: number;
}

const ALARMING: ReadonlySet<RunErrorCode> = new Set(["internal", "crash_loop"]);

/**
 * Works a leased run to its last event and stores that. Never rejects: what goes wrong ends the run, but for a lost lease or a
 * hand-over, after which it has `moved` to its next owner, and for an end that could not be stored: then it is `left`.
 */
export async function runToEnd(
  run: RunRecord,
  atHand: AtHand,
  deps: RunDeps,
  signal: AbortSignal,
): Promise<"ended" | "moved" | "left"> {
  using _working = deps.feed.works(run.runId, run.lastSeq);
  const log = deps.log.child({ runId: run.runId, agentId: run.agentId });
  const resumed = run.fence > 1 ? [runEntry(run, "run.resumed", { detail: { crashes: run.crashes } })] : [];
  const journal = createJournal(run, run.lastSeq, { ...deps, log }, signal, resumed);
  let progress: Progress | undefined;
  // An earlier owner may have asked the model without storing its turn.
  let asked = run.fence > 1;
  try {
    let entry: JournalEntry | undefined;
    let ending: Ending;
    let begun: RunState | undefined;
    const onLoop = loopDeps(run, deps, journal, log);
    let detail = {};
    try {
      // A run that ends processes is not loaded in order to end it.
      const ended = run.claims > MOST_CLAIMS ? crashLoop(run.crashes) : undefined;
      const look = isSuspect(run) && (ended || signal.aborted) ? outline : recall;
      const known = (progress = await patiently(() => look(run, deps), { ...deps, log, signal }));
      signal.throwIfAborted();
      if (ended) throw ended;
      const state = await patiently(() => restore(known, atHand, deps), { ...deps, log, signal });
      begun = state;
      const shown = state.answerHooks.length > 0 ? withoutDeltas(journal) : journal;
      const answer = await converse(state, { ...onLoop, journal: shown, onAsking: () => (asked = true) }, signal);
      entry = answer.last;
      ending = answered(state, answer, elapsed(run, deps.clock), deps.limits);
    } catch (error) {
      const cause = signal.aborted ? signal.reason : error;
      if (cause instanceof RunMoved) return moved(cause, log);
      const failure = cause instanceof RunFailure ? cause : new RunFailure("internal", "Internal error", { cause });
      log[ALARMING.has(failure.code) ? "error" : "info"]("run failed", { code: failure.code, cause: failure.cause });
      entry ??= begun && (begun.asking.unstored ?? unfinishedEntry(begun, onLoop));
      const known = progress && { state: progress, limits: deps.limits };
      ending = failed(run, failure, elapsed(run, deps.clock), known);
      detail = detailOf(failure);
    }
    await journal.write(finish(run, progress, ending, { neverAsked: !asked, detail }, entry));
    tell(run, ending, deps);
    return "ended";
  } catch (error) {
    if (error instanceof LeaseLost) return moved(error, log);
    log.error("run could not be ended, it is left to recovery", { cause: error });
    return "left";
  }
}

/** A text is shown only after the hooks of every service have seen it. */
function withoutDeltas(journal: Journal): Journal {
  return {
    ...journal,
    live(event) {
      if (event.type === "toolProgress") journal.live(event);
    },
  };
}

function moved(cause: RunMoved, log: Log): "moved" {
  log[cause instanceof LeaseLost ? "warn" : "info"]("run moved to another owner", { cause: cause.message });
  return "moved";
}

/** What a run without a known state ends with: its usage, and how many calls it made. */
async function outline(run: RunRecord, { runs }: RunDeps): Promise<Progress> {
  const { turns, calls } = await runs.outline(run.runId);
  return { ...createProgress(run, turns), leftOut: calls };
}

/** What earlier owners of the run stored; nothing for a run that had none. */
async function recall(run: RunRecord, { runs }: RunDeps): Promise<Progress> {
  if (run.fence <= 1) return createProgress(run);
  const { turns, calls } = await runs.checkpoint(run.runId);
  return createProgress(run, turns, calls);
}

async function restore(progress: Progress, atHand: AtHand, deps: RunDeps): Promise<RunState> {
  const { run } = progress;
  const models = modelsOf(run, progress.turns, deps.models);
  const manifest =
    atHand.manifest ?? (run.manifestHash ? await deps.runtimes.getManifest(run.agentId, run.manifestHash) : undefined);
  if (!manifest) throw sessionNotFound();
  const maxBytes = historyBytes(run, functionsOf(run, manifest).shown, models.model);
  const scope = { role: run.role, subject: run.subject, maxBytes };
  const history = atHand.history ?? (await deps.runs.history(run.threadId, scope));
  return createState(progress, { ...models, manifest, history, heldMicros: atHand.heldMicros ?? 0 });
}

function loopDeps(run: RunRecord, deps: RunDeps, journal: ReturnType<typeof createJournal>, log: Log) {
  const { runs, gateway, clock, limits, metrics, observe } = deps;
  const who = { runId: run.runId, agentId: run.agentId, ...(run.role !== undefined && { role: run.role }) };
  // By a clock that cannot be set: the machine's may jump past the deadline.
  const endsAt = performance.now() + run.deadlineAt - clock.now();
  return {
    runs,
    gateway,
    journal,
    clock,
    limits,
    log,
    remainingMs: () => endsAt - performance.now(),
    ...(deps.providerIdleMs !== undefined && { idleMs: deps.providerIdleMs }),
    onAttempt: metrics.modelTurn,
    onTurn: ({ provider, usage }: RunState["turns"][number]) => metrics.tokensUsed(provider, usage),
    onDisagreement({ callId, functionName }: RunState["calls"][number], rule: string) {
      metrics.accessDisagreed();
      log.error("access disagreement", {
        callId,
        functionName,
        rule,
        ...(run.role !== undefined && { role: run.role }),
      });
    },
    onCall(call: RunState["calls"][number], ms: number) {
      const code = call.outcome && !call.outcome.ok ? call.outcome.code : undefined;
      metrics.callEnded(code ?? "succeeded");
      const outcome = code === undefined ? { ok: true } : { ok: false, code };
      observe({ at: clock.now(), kind: "call", ...who, functionName: call.functionName, ...outcome, ms });
    },
  };
}

function finish(
  run: RunRecord,
  progress: Progress | undefined,
  ending: Ending,
  { neverAsked, detail }: { neverAsked: boolean; detail: Pick<AuditEntry, "detail"> },
  last: JournalEntry = {},
): JournalEntry {
  const { result, event } = ending;
  const open = (progress?.calls ?? []).filter((call) => !call.outcome);
  const sent = open.filter(({ sentAt }) => sentAt !== undefined);
  const answer = result.success ? result.response : `(This query ended with an error: ${result.errorMessage}.)`;
  return {
    ...last,
    // An answer would have brought it.
    ...(sent.length > 0 && { calls: sent }),
    events: [...(last.events ?? []), event],
    finish: {
      status: result.success ? "succeeded" : result.code === "cancelled" ? "cancelled" : "failed",
      result,
      history: progress ? historyOf(progress, answer) : [],
      ...(progress?.asking.turn && { unanswered: progress.asking.turn }),
      // What never reached a model may be tried again under the same key.
      releaseIdempotencyKey: !result.success && neverAsked,
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

const elapsed = (run: RunRecord, clock: Clock): number => Math.max(0, clock.now() - run.createdAt);

/** Counts an ended run and shows it to whoever watches. */
export function tell(
  run: RunRecord,
  { result }: Ending,
  { metrics, observe, clock }: Pick<RunDeps, "metrics" | "observe" | "clock">,
): void {
  const ms = result.executionTimeMs;
  metrics.runEnded(result.code ?? "succeeded", ms);
  const who = {
    at: clock.now(),
    runId: run.runId,
    agentId: run.agentId,
    ...(run.role !== undefined && { role: run.role }),
  };
  const tokens = result.usage.inputTokens + result.usage.outputTokens;
  if (result.success) observe({ kind: "done", ...who, ms, tokens });
  else observe({ kind: "failed", ...who, code: result.code ?? "internal", ms });
}
