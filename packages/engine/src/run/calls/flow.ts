import {
  type CallersWords,
  callersWords,
  contextForms,
  digestOf,
  evidenceOf,
  explainFlow,
  flowFault,
  leavesOf,
  pathText,
} from "@patchbay/access";
import {
  type CallFlow,
  FLOW_MODES,
  type FlowEvidence,
  type FlowFault,
  type FlowMode,
  type FlowNotice,
  type FlowSource,
  type FunctionManifest,
  type Manifest,
} from "@patchbay/protocol";
import { type CallRecord, callerOf, type RunRecord } from "../../ports/records.ts";
import { callFailure, type CallFailure } from "../../ports/refusal.ts";
import type { HistoryEntry, RunStore } from "../../ports/store/run-store.ts";
import type { RunObserver } from "../observer.ts";
import type { FlowMemory, PastCall, RunState } from "../state.ts";

/** Characters of the caller that a call's frame has, the newest first. */
const MOST_WORDS = 65_536;

/** What a run needs for its data-flow rules. Undefined without rules, which then cost nothing. */
export async function recallFlow(
  run: RunRecord,
  { functions }: Manifest,
  history: readonly HistoryEntry[],
  runs: Pick<RunStore, "get" | "checkpoint">,
): Promise<FlowMemory | undefined> {
  if (functions.every(({ flow }) => flow?.mode === undefined)) return undefined;
  const { query, quoted = [] } = run.request;
  const before = await Promise.all(
    history.map(async ({ runId }) => {
      const [earlier, { calls }] = await Promise.all([runs.get(run.agentId, runId), runs.checkpoint(runId)]);
      return { words: earlier ? [earlier.request.query] : [], calls: calls.map((call) => ({ runId, call })) };
    }),
  );
  return {
    words: [
      query,
      ...quoted.flatMap(({ from, text }) => (from === "user" ? [text] : [])),
      ...before.flatMap(({ words }) => words),
    ],
    earlier: before.flatMap(({ calls }) => calls),
  };
}

/** The decision of a function's data-flow rules on a call. */
export interface FlowVerdict {
  /** For the runtime, which decides again. */
  flow: CallFlow;
  fault?: FlowFault;
  /** The outcome of a call that does not run. */
  refusal?: CallFailure;
}

const stricter = (own: FlowMode, ofAgent: FlowMode = own): FlowMode =>
  FLOW_MODES.indexOf(ofAgent) > FLOW_MODES.indexOf(own) ? ofAgent : own;

/** Decides on a call before it is delivered. Undefined for a service without rules. An approved call only has its labels. */
export function judgeFlow(
  state: RunState,
  call: CallRecord,
  manifest: FunctionManifest,
  observer: Pick<RunObserver, "flowDisallowed">,
): FlowVerdict | undefined {
  const { mode: own, by = [], targets, sends } = manifest.flow ?? {};
  const mode = own && stricter(own, state.run.request.flows);
  if (!state.flow || mode === undefined) return undefined;
  const { request } = state.run;
  const ended = endedBefore(state, call);
  // What the client says that an assistant wrote, may repeat anything.
  const quotes = (request.quoted ?? []).some(({ from }) => from === "assistant");
  const foreign = [...state.functions.values()].some((one) => one.flow?.foreign);
  const isTaintedAtStart = quotes || foreign;
  const has = (label: "untrusted" | "secret") =>
    ended.some((one) => (one.call.outcome?.flow?.[label] ?? []).length > 0);
  const direct = request.testCall !== undefined;
  const labels = { tainted: isTaintedAtStart || has("untrusted"), secret: has("secret"), ...(direct && { direct }) };
  if (call.approval || !(targets ?? sends)) return { flow: { words: [], results: [], asks: false, ...labels } };
  const results = ended.map(evidenceOfPast);
  const words = callersWords(state.flow.words, [...contextForms(callerOf(request).context)]);
  const facts = { ...labels, words, results: withoutWritten(ended, state, { words, isTaintedAtStart }) };
  const fault = flowFault(manifest, call.arguments, facts);
  const asks = fault !== undefined && mode === "ask";
  const flow = { words: newest(state.flow.words), results: relevant(results, call), asks, ...labels };
  if (!fault) return { flow };
  observer.flowDisallowed(call, mode, fault);
  const refused = mode === "deny" || (asks && by.length === 0 && !manifest.approval);
  return { flow, fault, ...(refused && { refusal: callFailure("denied", explainFlow(fault), "flow") }) };
}

const endedBefore = ({ flow, calls, run: { runId } }: RunState, call: CallRecord): PastCall[] =>
  [...flow!.earlier, ...calls.map((one) => ({ runId, call: one }))].filter(
    (one) => one.call !== call && one.call.outcome,
  );

/** A fault as the approver reads it. */
export function noticeOf(state: RunState, call: CallRecord, { value, ...fault }: FlowFault): FlowNotice {
  return { ...fault, source: state.flow ? sourceOf(value, endedBefore(state, call)) : "model" };
}

/** Outcomes do not change, so each is read once. */
const read = new WeakMap<object, FlowEvidence>();

function evidenceOfPast({ runId, call }: PastCall): FlowEvidence {
  const outcome = call.outcome!;
  const known = read.get(outcome);
  if (known) return known;
  const { callId, functionName, arguments: given } = call;
  const evidence = evidenceOf({ runId, callId, functionName, arguments: given, outcome });
  read.set(outcome, evidence);
  return evidence;
}

/**
 * The results without values that a call wrote after something untrusted: read back, they would look like the owner's. What the caller
 * named stays.
 */
function withoutWritten(
  ended: readonly PastCall[],
  { functions }: Pick<RunState, "functions">,
  { words, isTaintedAtStart }: { words: CallersWords; isTaintedAtStart: boolean },
): FlowEvidence[] {
  const written = new Set<string>();
  let tainted = isTaintedAtStart;
  return ended.map((past) => {
    const one = evidenceOfPast(past);
    const isOwn = (value: string): boolean => !written.has(value);
    const records = one.records.map((record) => ({ ...record, values: record.values.filter(isOwn) }));
    tainted ||= one.untrusted.length > 0;
    if (tainted && functions.get(one.functionName)?.effect !== "read")
      for (const form of contextForms(past.call.arguments)) if (!words.has(form)) written.add(digestOf(form));
    return { ...one, records };
  });
}

/** The results that have one of the call's values. */
function relevant(results: readonly FlowEvidence[], { arguments: given }: CallRecord): FlowEvidence[] {
  const values = new Set([...contextForms(given)].map(digestOf));
  return results.filter(({ records }) => records.some((one) => one.values.some((value) => values.has(value))));
}

function newest(words: readonly string[]): string[] {
  let left = MOST_WORDS;
  return words.filter(({ length }) => (left -= length) >= 0);
}

/** The newest result that has the value. */
function sourceOf(value: string | undefined, ended: readonly PastCall[]): FlowSource {
  for (const { call } of ended.toReversed()) {
    const { outcome, callId: toolCallId, functionName: toolName } = call;
    if (value === undefined || !outcome?.ok) continue;
    for (const { form, path } of leavesOf(outcome.value))
      if (form !== undefined && digestOf(form) === value) return { toolCallId, toolName, path: pathText(path) };
  }
  return "model";
}
