import type { Manifest, RunErrorCode } from "@patchbay/protocol";
import type { RunSettings, RunTrace, Span } from "@patchbay/protocol/console";
import { usdOf } from "../accounts/usd.ts";
import type { RunParts, TimedTurn } from "../ports/console-runs.ts";
import type { RunRequest } from "../ports/records.ts";
import { visibleFunctions } from "../run/access.ts";
import { stepsOf } from "../run/request.ts";
import { callAttempts, turnAttempts } from "./attempts.ts";
import { shownBytes } from "./payload.ts";
import {
  askedSpan,
  callSpan,
  isPlan,
  queueSpan,
  querySpan,
  runEnding,
  type ShownParts,
  turnSpan,
  within,
} from "./spans.ts";

/** A run with the bars of its waterfall, told from what is stored. `manifest`: the function set it began with, where that is kept. */
export function traceOf(parts: RunParts, manifest: Manifest | undefined): RunTrace {
  const { run, summary, turns } = parts;
  const { request, result, manifestHash } = run;
  const visible = manifest ? visibleFunctions(manifest, run.role) : [];
  const hidden = manifest?.functions.filter((one) => !visible.includes(one)) ?? [];
  const noted = new Set([...request.warnings, ...turns.flatMap((turn) => turn.warnings)]);
  return {
    ...summary,
    fullQuery: request.query,
    response: result?.success ? result.response : null,
    errorMessage: result && !result.success ? result.errorMessage : null,
    warnings: result?.warnings ?? [...noted],
    context: request.context,
    analysisMode: request.analysisMode,
    settings: settingsOf(request),
    manifestHash: manifestHash ?? null,
    deadlineAt: new Date(run.deadlineAt).toISOString(),
    // The query and each call have an input and an output, a turn has an output.
    spans: spansOf({ ...parts, shownBytes: shownBytes(2 + turns.length + 2 * parts.calls.length) }, manifest),
    visible: visible.map(({ name }) => name).toSorted(),
    hidden: hidden.map(({ name }) => name).toSorted(),
  };
}

function settingsOf(request: RunRequest): RunSettings {
  const { temperature = null, maxTokens, fallback = [], historyTokens = null, maxCostMicros } = request;
  return {
    temperature,
    maxTokens,
    steps: stepsOf(request),
    fallback: fallback.map(({ provider, model }) => `${provider}/${model}`),
    historyTokens,
    maxCostUsd: maxCostMicros === undefined ? null : usdOf(maxCostMicros),
    hasResponseSchema: request.responseSchema !== undefined,
  };
}

/** Parents before children, in the order in which they began. */
function spansOf(parts: ShownParts, manifest: Manifest | undefined): Span[] {
  const { run, turns, calls } = parts;
  const queue = queueSpan(parts);
  const spans = [querySpan(parts), ...(queue ? [queue] : [])];
  if (run.startedAt === undefined) return spans;
  // What is not stored of a turn's beginning: it came after the end of all before it.
  let before = run.startedAt;
  for (const turn of turns) {
    const ofTurn = calls.filter(({ step }) => step === turn.step);
    const ending = failedWith(parts, turn) ? runEnding(run) : ({ state: "ok" } as const);
    // The last turn is stored with the run's end, a moment after it.
    const to = Math.min(turn.endedAt, run.finishedAt ?? turn.endedAt);
    const from = within(turn.timing?.beganAt ?? before, { from: before, to });
    const span = turnSpan(parts, turn, { from, to }, ending);
    spans.push(span, ...turnAttempts(run.createdAt, span, turn.timing));
    for (const call of ofTurn) {
      const called = callSpan(parts, call, manifest);
      spans.push(called, ...callAttempts(run.createdAt, called, call));
    }
    before = Math.max(to, ...ofTurn.map((call) => call.finishedAt ?? 0));
  }
  if (asks(parts)) {
    const to = run.finishedAt;
    const from = within(parts.unanswered?.beganAt ?? before, { from: before, to });
    const span = askedSpan(parts, { from, to });
    spans.push(span, ...turnAttempts(run.createdAt, span, parts.unanswered));
  }
  return spans;
}

/** Ends of a run whose last turn came, and could not be used. */
const UNUSABLE: ReadonlySet<RunErrorCode | undefined> = new Set<RunErrorCode>([
  "model_refused",
  "output_limit",
  "output_invalid",
  "step_limit",
  "refused",
  "provider_error",
]);
/** Ends of a run in which a turn that was asked for may not have come. */
const UNANSWERED: ReadonlySet<RunErrorCode | undefined> = new Set<RunErrorCode>([
  "provider_error",
  "deadline_exceeded",
  "cancelled",
]);

/** True of a last turn that neither called nor planned anything: the run ended with it. */
function isLast({ turns, calls }: RunParts, turn: TimedTurn | undefined): boolean {
  return turn !== undefined && turn === turns.at(-1) && !isPlan(turn) && calls.every(({ step }) => step !== turn.step);
}

function failedWith(parts: RunParts, turn: TimedTurn): boolean {
  const { result } = parts.run;
  if (!result || result.success || !isLast(parts, turn)) return false;
  // A turn that says nothing is what was billed for attempts that do not count.
  return UNUSABLE.has(result.code) || turn.messages.every((said) => said.role === "assistant" && said.text === "");
}

/** Whether the model is being asked, or was when the run ended: nothing else was under way. */
function asks(parts: RunParts): boolean {
  const { run, calls, turns } = parts;
  if (parts.unanswered) return true;
  if (calls.some(({ outcome }) => !outcome)) return false;
  return run.finishedAt === undefined || (UNANSWERED.has(run.result?.code) && !isLast(parts, turns.at(-1)));
}
