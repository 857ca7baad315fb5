import {
  type CallersWords,
  callersWords,
  contextForms,
  digestOf,
  evidenceOf,
  explainFlow,
  flowEnding,
  type FlowFacts,
  flowFault,
  leavesOf,
  pathText,
} from "@patchbay/access";
import type {
  CallFlow,
  FlowEvidence,
  FlowFault,
  FlowMode,
  FlowNotice,
  FlowSource,
  FunctionManifest,
  Manifest,
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

/** Decides on a call before it is delivered. Undefined for a service without rules. An approved call only has its labels. */
export function judgeFlow(
  state: RunState,
  call: CallRecord,
  manifest: FunctionManifest,
  observer: Pick<RunObserver, "flowDisallowed">,
): FlowVerdict | undefined {
  if (!state.flow || manifest.flow?.mode === undefined) return undefined;
  const ended = endedBefore(state, call);
  const seen = seenIn(state, ended);
  const ending = endingOf(manifest, state.run);
  if (call.approval || ending === undefined) return { flow: { words: [], results: [], asks: false, ...seen } };
  const { words } = state.flow;
  const fault = flowFault(manifest, call.arguments, factsOf(state, words, ended));
  const asks = fault !== undefined && ending === "ask";
  const flow = { words: newest(words), results: relevant(ended.map(evidenceOfPast), call), asks, ...seen };
  if (!fault) return { flow };
  observer.flowDisallowed(call, ending, fault);
  return { flow, fault, ...(ending === "deny" && { refusal: callFailure("denied", explainFlow(fault), "flow") }) };
}

/** What happens to a call with a fault. Undefined for a function without rules. */
export const endingOf = (manifest: FunctionManifest, { request }: Pick<RunRecord, "request">): FlowMode | undefined =>
  (manifest.flow?.targets ?? manifest.flow?.sends) ? flowEnding(manifest, request.flows) : undefined;

type Begun = Pick<RunState, "run" | "functions">;

/** What the client says that an assistant wrote, may repeat anything. */
const startsTainted = ({ run: { request }, functions }: Begun): boolean =>
  (request.quoted ?? []).some(({ from }) => from === "assistant") ||
  [...functions.values()].some(({ flow }) => flow?.foreign);

function seenIn(state: Begun, ended: readonly PastCall[]) {
  const has = (label: "untrusted" | "secret") =>
    ended.some(({ call }) => (call.outcome?.flow?.[label] ?? []).length > 0);
  const direct = state.run.request.testCall !== undefined;
  return { tainted: startsTainted(state) || has("untrusted"), secret: has("secret"), ...(direct && { direct }) };
}

/** What a run has seen before a call: its caller's texts, and the calls that ended. */
export function factsOf(state: Begun, texts: readonly string[], ended: readonly PastCall[]): FlowFacts {
  const words = callersWords(texts, [...contextForms(callerOf(state.run.request).context)]);
  const results = withoutWritten(ended, state, { words, isTaintedAtStart: startsTainted(state) });
  return { words, results, ...seenIn(state, ended) };
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
