import { isoTime, present } from "@patchbay/kit";
import type { Manifest, RunErrorCode } from "@patchbay/protocol";
import type { RunSettings, RunTrace, Span } from "@patchbay/protocol/console";
import { usdOf } from "@patchbay/server/accounts/admin-accounts";
import {
  type CallRecord,
  type EarlierAttempt,
  maxTurnsOf,
  type ModelRetry,
  type RunRequest,
  type TurnTiming,
} from "@patchbay/engine/ports/records";
import { visibleFunctions } from "@patchbay/engine/run/api";
import type { RunParts, TimedTurn } from "./queries.ts";
import {
  askedBar,
  type Bar,
  callBar,
  isPlan,
  queryBar,
  queueBar,
  runEnding,
  shownBytes,
  spanOf,
  turnBar,
  within,
} from "./spans.ts";

/** A run with its waterfall's spans. `manifest`: the function set that it started with, while stored. */
export function traceOf(parts: RunParts, manifest: Manifest | undefined): RunTrace {
  const { run, summary, turns } = parts;
  const { request, result, manifestHash } = run;
  const visible = manifest ? visibleFunctions(manifest, run.role) : [];
  const hidden = manifest?.functions.filter((fn) => !visible.includes(fn)) ?? [];
  // Payloads: input and output for the query and each call, and each turn's output.
  const shown = { acceptedAt: run.createdAt, shownBytes: shownBytes(2 + turns.length + 2 * parts.calls.length) };
  const noted = new Set([...request.warnings, ...turns.flatMap((turn) => turn.warnings)]);
  return {
    ...summary,
    fullQuery: request.query,
    response: result?.success ? result.response : null,
    errorMessage: result && !result.success ? result.errorMessage : null,
    warnings: result?.warnings ?? [...noted],
    sender: parts.sender ?? null,
    requestId: run.requestId ?? null,
    context: request.context,
    instructions: request.instructions ?? null,
    analysisMode: request.analysisMode,
    settings: settingsOf(request),
    manifestHash: manifestHash ?? null,
    deadlineAt: isoTime(run.deadlineAt),
    spans: barsOf(parts, manifest).map((bar) => spanOf(bar, shown)),
    rerunOf: request.rerunOf?.runId ?? null,
    reruns: parts.reruns,
    continues: [...(request.retryOf?.continues ?? [])],
    retriedBy: parts.retriedBy ?? null,
    feedback: parts.feedback,
    visible: visible.map(({ name }) => name).toSorted(),
    hidden: hidden.map(({ name }) => name).toSorted(),
  };
}

function settingsOf(request: RunRequest): RunSettings {
  const { temperature = null, reasoning, maxTokens, fallback = [], historyTokens = null, maxCostMicros } = request;
  return {
    temperature,
    ...present({ reasoning }),
    maxTokens,
    steps: maxTurnsOf(request),
    fallback: fallback.map(({ provider, model, reasoning: own }) => `${provider}/${model}${own ? `#${own}` : ""}`),
    historyTokens,
    maxCostUsd: maxCostMicros === undefined ? null : usdOf(maxCostMicros),
    responseSchema: request.responseSchema ?? null,
  };
}

/** Parents before children, in start order. */
function barsOf(parts: RunParts, manifest: Manifest | undefined): Bar[] {
  const bars = allBars(parts, manifest);
  if (parts.run.kind !== "call") return bars;
  // A direct call's turns involve no model: its call belongs to the run itself.
  const turns = new Set(bars.filter(({ kind }) => kind === "turn").map(({ id }) => id));
  return bars
    .filter(({ id }) => !turns.has(id))
    .map((bar) => (bar.parentId !== null && turns.has(bar.parentId) ? { ...bar, parentId: parts.run.runId } : bar));
}

function allBars(parts: RunParts, manifest: Manifest | undefined): Bar[] {
  const { run, turns, calls } = parts;
  const queue = queueBar(parts);
  const bars = [queryBar(parts), ...(queue ? [queue] : [])];
  if (run.startedAt === undefined) return bars;
  // A turn without a stored start began when everything before it had ended.
  let before = run.startedAt;
  // Calls that a retry copies from the run that it continues; it does not have their turns.
  const steps = new Set(turns.map(({ step }) => step));
  for (const call of calls)
    if (!steps.has(call.step)) bars.push({ ...callBar(parts, call, manifest), parentId: run.runId });
  for (const turn of turns) {
    const ofTurn = calls.filter(({ step }) => step === turn.step);
    const ending = failedWith(parts, turn) ? runEnding(run) : ({ state: "ok" } as const);
    // The last turn is stored with the run's end, whose time is slightly earlier.
    const to = Math.min(turn.endedAt, run.finishedAt ?? turn.endedAt);
    const from = within(turn.timing?.beganAt ?? before, { from: before, to });
    const bar = turnBar(parts, turn, { from, to }, ending);
    bars.push(bar, ...turnAttempts(bar, turn.timing));
    for (const call of ofTurn) {
      const called = callBar(parts, call, manifest);
      bars.push(called, ...callAttempts(called, call));
    }
    before = Math.max(to, ...ofTurn.map((call) => call.finishedAt ?? 0));
  }
  if (awaitsTurn(parts)) {
    const to = run.finishedAt;
    const from = within(parts.unanswered?.beganAt ?? before, { from: before, to });
    const bar = askedBar(parts, { from, to });
    bars.push(bar, ...turnAttempts(bar, parts.unanswered));
  }
  return bars;
}

/** Error codes for runs whose last turn arrived but could not be used. */
const UNUSABLE: ReadonlySet<RunErrorCode | undefined> = new Set<RunErrorCode>([
  "model_refused",
  "output_limit",
  "output_invalid",
  "step_limit",
  "refused",
  "provider_error",
]);
/** Error codes for runs that may have ended before a requested turn arrived. */
const UNANSWERED: ReadonlySet<RunErrorCode | undefined> = new Set<RunErrorCode>([
  "provider_error",
  "deadline_exceeded",
  "cancelled",
]);

/** True for the last turn when it made no call and no plan: the run ended with it. */
function isLast({ turns, calls }: RunParts, turn: TimedTurn | undefined): boolean {
  return turn !== undefined && turn === turns.at(-1) && !isPlan(turn) && calls.every(({ step }) => step !== turn.step);
}

function failedWith(parts: RunParts, turn: TimedTurn): boolean {
  const { result } = parts.run;
  if (!result || result.success || !isLast(parts, turn)) return false;
  // An empty turn has the cost of discarded attempts.
  return UNUSABLE.has(result.code) || turn.messages.every((said) => said.role === "assistant" && said.text === "");
}

/** True when a model request is in progress, or was at the run's end. */
export function awaitsTurn(parts: RunParts): boolean {
  const { run, calls, turns } = parts;
  if (parts.unanswered) return true;
  if (calls.some(({ outcome }) => !outcome)) return false;
  return run.finishedAt === undefined || (UNANSWERED.has(run.result?.code) && !isLast(parts, turns.at(-1)));
}

/** One attempt at a turn or call. It starts when the previous attempt ends. */
interface Attempt extends Pick<Bar, "waitedUntil" | "ending" | "attributes"> {
  number: number;
  /** Undefined: with its turn or call. */
  endedAt?: number;
}

/** The attempts at a call that was sent more than once; empty for a single attempt. */
function callAttempts(call: Bar, { earlier = [], attempt, instanceId, sentAt }: CallRecord): Bar[] {
  if (earlier.length === 0) return [];
  const attempts = earlier.map((one): Attempt => ({
    number: one.attempt,
    endedAt: one.endedAt,
    waitedUntil: one.sentAt,
    ending: reasonForAttempt(one),
    attributes: { runtime: one.instanceId },
  }));
  const attributes = instanceId === undefined ? {} : { runtime: instanceId };
  return attemptBars(call, [...attempts, { number: attempt, waitedUntil: sentAt, ending: call.ending, attributes }]);
}

function reasonForAttempt({ ended, message }: EarlierAttempt): Bar["ending"] {
  if (ended === "failed")
    return { state: "failed", code: "function_failed", errorMessage: `${message} It was called again.` };
  if (ended === "unknown")
    return {
      state: "unknown",
      code: "outcome_unknown",
      errorMessage: "The connection was lost before a result arrived. The call was delivered again.",
    };
  const errorMessage = "The runtime had not started the call. It was sent again.";
  return { state: "failed", code: "undelivered", errorMessage };
}

/** The attempts at a turn that was requested more than once; empty for a single attempt. */
function turnAttempts(turn: Bar, timing: TurnTiming | undefined): Bar[] {
  const retries = timing?.retries ?? [];
  if (retries.length === 0) return [];
  const pauseOver = (before: ModelRetry | undefined) => before && before.at + before.waitedMs;
  const failed = retries.map((retry, i): Attempt => ({
    number: i + 1,
    endedAt: retry.at,
    waitedUntil: pauseOver(retries[i - 1]),
    ending: { state: "failed", code: retry.code, errorMessage: REASON_FOR_RETRY[retry.code] },
    attributes: modelOf(retry),
  }));
  const last = {
    number: retries.length + 1,
    waitedUntil: pauseOver(retries.at(-1)),
    ending: turn.ending,
    attributes: modelOf(turn.attributes ?? {}),
  };
  return attemptBars(turn, [...failed, last]);
}

/** Attempts may use different models: the run may have switched to a fallback. */
const modelOf = ({ provider, model }: Span["attributes"] | ModelRetry): Span["attributes"] =>
  provider === undefined || model === undefined ? {} : { provider, model };

const REASON_FOR_RETRY: Record<ModelRetry["code"], string> = {
  rate_limited: "The provider is limiting requests.",
  quota: "The account's quota or spending limit at the provider is used up.",
  overloaded: "The provider is overloaded.",
  authentication: "The provider rejected the configured API key.",
  unknown_model: "The provider does not offer this model.",
  bad_request: "The provider rejected the request.",
  context_window: "The conversation was too long for the model. It was shortened and sent again.",
  too_many_functions: "The role has more functions than the model takes.",
  network: "The connection to the provider was lost.",
  out_of_files: "The service had no free file descriptor for the request.",
  truncated: "The answer was cut off.",
  unknown_end: "The provider ended the answer for an unknown reason.",
  unreadable: "The provider did not answer with events.",
  internal: "The service could not ask the provider or read its answer.",
  server: "The provider had an internal error.",
  empty: "The model returned neither text nor calls.",
  malformed: "The model's call could not be parsed.",
};

function attemptBars(parent: Bar, attempts: readonly Attempt[]): Bar[] {
  const end = parent.to && Math.max(parent.from, parent.to);
  let { from } = parent;
  return attempts.map(({ number, endedAt, ...attempt }) => {
    const to = endedAt === undefined ? end : within(endedAt, { from, to: end });
    const bar = {
      ...attempt,
      id: `${parent.id}:attempt:${number}`,
      parentId: parent.id,
      kind: "attempt" as const,
      name: `attempt ${number}`,
      from,
      to,
    };
    if (to !== undefined) from = to;
    return bar;
  });
}
