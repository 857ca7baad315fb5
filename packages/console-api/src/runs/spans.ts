import { explainFlow } from "@patchbay/access";
import { type ErrorReport, explainDenial, type Manifest } from "@patchbay/protocol";
import { type JsonValue, present } from "@patchbay/kit";
import type { Span } from "@patchbay/protocol/console";
import { PLAN_REQUEST } from "@patchbay/engine/ports/model-provider";
import { refusalOf } from "@patchbay/engine/ports/refusal";
import { outcomeFields, parametersOf } from "@patchbay/engine/run/api";
import { payloadOf } from "./payload.ts";
import type { RunParts, TimedCall, TimedTurn } from "./queries.ts";

/** An interval in a run, in milliseconds on the database's clock. `to` is undefined while it is open. */
export interface Stretch {
  from: number;
  to: number | undefined;
}

/** Clamps a time to an interval: replicas estimate the database's clock, so a child may seem to start before its parent. */
export function within(at: number, { from, to }: Stretch): number {
  return Math.min(Math.max(at, from), to ?? Infinity);
}

/** One statement may read the database's clock twice. */
const SAME_MOMENT_MS = 1;

export type Ending = Pick<Span, "state"> & Partial<Pick<Span, "rule" | "why" | "code" | "errorMessage">>;

/** A span with times on the database's clock and whole payloads. */
export interface Bar extends Stretch, Pick<Span, "id" | "parentId" | "kind" | "name"> {
  ending: Ending;
  /** When a wait at its start ended. */
  waitedUntil?: number | undefined;
  error?: ErrorReport | undefined;
  input?: JsonValue | undefined;
  output?: JsonValue | undefined;
  progress?: JsonValue | undefined;
  attributes?: Span["attributes"];
}

/** The run's own span. */
export function queryBar({ run, resumedAt }: RunParts): Bar {
  const { query, context, analysisMode, maxTokens, temperature, reasoning, testCall } = run.request;
  return {
    id: run.runId,
    parentId: null,
    kind: "query",
    name: testCall ? `call of ${testCall.functionName}` : "query",
    from: run.createdAt,
    to: run.finishedAt,
    ending: runEnding(run),
    input: { query, context },
    output: run.result?.success ? run.result.response : undefined,
    attributes: {
      ...present({ role: run.role }),
      analysisMode,
      maxTokens,
      ...present({ temperature, reasoning }),
      ...(resumedAt.length > 0 && { resumed: resumedAt.length }),
    },
  };
}

/** The wait for the thread's other runs, or for a replica. Undefined when the run started immediately. */
export function queueBar({ run }: RunParts): Bar | undefined {
  const refused = run.startedAt === undefined && run.finishedAt !== undefined && run.fence === 0;
  const to = run.startedAt ?? run.finishedAt;
  if (refused || (to !== undefined && to - run.createdAt <= SAME_MOMENT_MS)) return undefined;
  return {
    id: `${run.runId}:queue`,
    parentId: run.runId,
    kind: "queue",
    name: "queue",
    from: run.createdAt,
    to,
    ending: { state: to === undefined ? "running" : run.startedAt === undefined ? runEnding(run).state : "ok" },
  };
}

export function turnBar(parts: RunParts, turn: TimedTurn, stretch: Stretch, ending: Ending): Bar {
  const { usage, costMicros, provider, model, warnings, step } = turn;
  const said = turn.messages.find((message) => message.role === "assistant");
  const calls = said?.calls.map(({ name, arguments: input }) => ({ name, arguments: input })) ?? [];
  return {
    ...anyTurn(parts, step, model, stretch),
    ending,
    output: { ...(said && said.text !== "" && { text: said.text }), ...(calls.length > 0 && { calls }) },
    attributes: {
      step,
      provider,
      model,
      inputTokens: usage.input,
      cachedInputTokens: usage.cachedInput,
      cacheWriteInputTokens: usage.cacheWriteInput ?? 0,
      outputTokens: usage.output,
      ...(turn.timing?.firstTokenMs !== undefined && { firstTokenMs: turn.timing.firstTokenMs }),
      costUsd: costMicros / 1_000_000,
      ...(isPlan(turn) && { plan: true }),
      ...(warnings.length > 0 && { warnings }),
      ...resumedIn(parts, stretch),
    },
  };
}

/** A turn in progress, or a failed one: neither is stored. */
export function askedBar(parts: RunParts, stretch: Stretch): Bar {
  const { run, turns, unanswered } = parts;
  const step = turns.length;
  const asked = { ...run.request, ...turns.at(-1), ...unanswered };
  const { provider, model } = asked;
  return {
    ...anyTurn(parts, step, model, stretch),
    ending: runEnding(run),
    attributes: { step, provider, model, ...resumedIn(parts, stretch) },
  };
}

const anyTurn = ({ run }: RunParts, step: number, model: string, stretch: Stretch) => ({
  ...stretch,
  id: turnId(run.runId, step),
  parentId: run.runId,
  kind: "turn" as const,
  name: model,
});

const turnId = (runId: string, step: number): string => `${runId}:turn:${step}`;

/** In analysis mode the first turn is a plan: its first message requests one. */
export const isPlan = ({ messages }: TimedTurn): boolean =>
  messages[0]?.role === "user" && messages[0].text === PLAN_REQUEST;

export function callBar(parts: RunParts, call: TimedCall, manifest: Manifest | undefined): Bar {
  const { run } = parts;
  const { outcome, attempt, instanceId, callId, functionName, runsUntil } = call;
  const isRunning = !outcome && runsUntil !== undefined && run.finishedAt === undefined;
  const stretch = { from: call.createdAt, to: call.finishedAt ?? run.finishedAt };
  const withheld = outcome?.ok ? (outcome.redacted ?? []) : [];
  const { flow: { untrusted = [], secret = [] } = {}, flowFault } = outcome ?? {};
  return {
    ...stretch,
    id: callId,
    parentId: turnId(run.runId, call.step),
    kind: "call",
    name: functionName,
    ending: callEnding(parts, call, manifest),
    error: parts.errors.get(callId),
    waitedUntil: firstSentAt(call),
    input: parametersOf(call),
    output: outcome?.ok ? outcome.value : undefined,
    progress: isRunning ? call.progress : undefined,
    attributes: {
      ...(isRunning && { detached: true }),
      ...(instanceId !== undefined && present({ runtime: instanceId, runtimeName: parts.runtimes.get(instanceId) })),
      ...(attempt > 1 && { attempts: attempt }),
      ...(withheld.length > 0 && { withheld }),
      ...(untrusted.length > 0 && { untrusted }),
      ...(secret.length > 0 && { secret }),
      ...(flowFault && { dataFlow: explainFlow(flowFault) }),
      ...resumedIn(parts, stretch),
    },
  };
}

/** When the call was first sent to a runtime. */
function firstSentAt({ earlier = [], sentAt }: TimedCall): number | undefined {
  return earlier.find((attempt) => attempt.sentAt !== undefined)?.sentAt ?? sentAt;
}

function callEnding({ run }: RunParts, call: TimedCall, manifest: Manifest | undefined): Ending {
  const { outcome, functionName } = call;
  if (!outcome && run.finishedAt === undefined) return { state: "running" };
  if (outcome?.ok) return { state: "ok" };
  // Also for a call without an outcome whose run has ended.
  const { code = null, errorMessage = null } = outcomeFields(call, true);
  const rule = outcome && refusalOf(outcome);
  if (rule === undefined) return { state: failureOf(code), code, errorMessage };
  const roles = manifest?.functions.find(({ name }) => name === functionName)?.roles;
  const why = explainDenial({ functionName, rule, role: run.role, roles, message: errorMessage ?? "" });
  return { state: "denied", rule, why, code, errorMessage };
}

/** How a call that was not denied failed. */
export const failureOf = (code: string | null) =>
  code === "outcome_unknown" ? "unknown" : code === "cancelled" ? "cancelled" : "failed";

/** The run's ending, which its open spans share. */
export function runEnding({ status, result }: RunParts["run"]): Ending {
  if (status === "queued" || status === "running" || status === "waiting") return { state: "running" };
  if (status === "succeeded") return { state: "ok" };
  return { state: status, code: result?.code ?? null, errorMessage: result?.errorMessage ?? null };
}

/** Marks spans that were open when another replica resumed the run. The takeover's duration is not stored. */
function resumedIn({ resumedAt }: RunParts, { from, to }: Stretch): { resumed?: true } {
  return resumedAt.some((at) => at > from && at <= (to ?? at)) ? { resumed: true } : {};
}

/** A span with times relative to the run's start, and truncated payloads. */
export function spanOf(
  { from, to, ending, waitedUntil, error, input, output, progress, attributes, ...bar }: Bar,
  { acceptedAt, shownBytes }: { acceptedAt: number; shownBytes: number },
): Span {
  const shown = {
    input: input === undefined ? undefined : payloadOf(input, shownBytes),
    output: output === undefined ? undefined : payloadOf(output, shownBytes),
  };
  const truncated = (["input", "output"] as const).filter((side) => shown[side]?.truncated);
  const startMs = Math.max(0, from - acceptedAt);
  return {
    ...bar,
    startMs,
    endMs: to === undefined ? null : Math.max(startMs, to - acceptedAt),
    waitMs: waitedUntil === undefined ? null : within(waitedUntil, { from, to }) - from,
    rule: null,
    why: null,
    code: null,
    errorMessage: null,
    ...ending,
    ...(error && { error }),
    ...(shown.input && { input: shown.input.value }),
    ...(shown.output && { output: shown.output.value }),
    ...(progress !== undefined && { progress: payloadOf(progress, shownBytes).value }),
    attributes: { ...attributes, ...(truncated.length > 0 && { truncated }) },
  };
}

const MAX_BYTES = 32 * 1024;
const MIN_BYTES = 1024;
const BYTES_OF_TRACE = 1_048_576;

/**
 * Bytes per payload in a trace, so that a run with hundreds of calls does not produce a response with many megabytes.
 */
export function shownBytes(payloads: number): number {
  return Math.min(MAX_BYTES, Math.max(MIN_BYTES, Math.floor(BYTES_OF_TRACE / payloads)));
}
