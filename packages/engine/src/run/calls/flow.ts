import {
  callersWords,
  contextForms,
  digestOf,
  evidenceOf,
  explainFlow,
  flowEnding,
  type FlowFacts,
  flowFault,
  labelsIn,
  labelsOf,
  leavesOf,
  pathText,
  withoutValues,
} from "@patchbay/access";
import type {
  CallFlow,
  FlowEvidence,
  FlowFault,
  FlowLabel,
  FlowMode,
  FlowNotice,
  FlowSource,
  FunctionManifest,
  Manifest,
} from "@patchbay/protocol";
import type { Delivery } from "../../ports/function-gateway.ts";
import { callerOf } from "../../ports/callers.ts";
import { type CallRecord, type RunRecord } from "../../ports/records.ts";
import { callFailure, type CallFailure } from "../../ports/refusal.ts";
import type { HistoryEntry, RunStore } from "../../ports/store/run-store.ts";
import { withRetry } from "../run-context.ts";
import { type ActiveRun, type FlowMemory, functionsOf, type PastCall, type RunState } from "../state.ts";

/** Characters of the caller that a call's frame has, the newest first. */
const MOST_WORDS = 65_536;

/** What a run needs for its data-flow rules. Undefined without rules, which then cost nothing. */
export async function recallFlow(
  run: RunRecord,
  manifest: Manifest,
  history: readonly HistoryEntry[],
  runs: Pick<RunStore, "get" | "checkpoint">,
): Promise<FlowMemory | undefined> {
  if (manifest.functions.every(({ flow }) => flow?.mode === undefined)) return undefined;
  const { query, quoted = [], retryOf } = run.request;
  const before = await Promise.all(
    history.map(async ({ runId }) => {
      const earlier = await runs.get(run.agentId, runId);
      const continues = earlier?.request.retryOf?.continues ?? [];
      return { words: earlier ? [earlier.request.query] : [], calls: await callsOf([...continues, runId], runs) };
    }),
  );
  const labels = history.flatMap(({ messages: [first] }) => (first?.role === "user" ? (first.labels ?? []) : []));
  const isToldMore = hasStrangersWords(run, functionsOf(run, manifest).visible);
  return {
    labels: new Set<FlowLabel>([...labels, ...(isToldMore ? ["untrusted" as const] : [])]),
    words: [
      query,
      ...quoted.flatMap(({ from, text }) => (from === "user" ? [text] : [])),
      ...before.flatMap(({ words }) => words),
    ],
    earlier: [...before.flatMap(({ calls }) => calls), ...(await callsOf(retryOf?.continues ?? [], runs))],
  };
}

async function callsOf(runIds: readonly string[], runs: Pick<RunStore, "checkpoint">): Promise<PastCall[]> {
  const stored = await Promise.all(runIds.map((runId) => runs.checkpoint(runId)));
  return stored.flatMap(({ calls }, i) => calls.map((call) => ({ runId: runIds[i]!, call })));
}

/** True for a run whose model reads a stranger's words before it calls anything. */
const hasStrangersWords = ({ request }: Pick<RunRecord, "request">, functions: Iterable<FunctionManifest>): boolean =>
  // What the client says that an assistant wrote, may repeat anything.
  (request.quoted ?? []).some(({ from }) => from === "assistant") || [...functions].some(({ flow }) => flow?.foreign);

/**
 * A delivery with the labels of its function, where the runtime gives none: a service without `flows` does not, and another service of
 * the agent may have them.
 */
export function withLabels({ flow }: RunState, one: FunctionManifest, delivery: Delivery): Delivery {
  if (!flow || one.flow?.mode !== undefined || delivery.kind !== "outcome") return delivery;
  const { outcome } = delivery;
  if (!outcome.ok && outcome.code !== "function_failed") return delivery;
  const rules = labelsOf({ ...one, flow: { ...one.flow, mode: "report" } })!;
  return { kind: "outcome", outcome: { ...outcome, flow: { ...outcome.flow, ...labelsIn(rules, outcome) } } };
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
export async function judgeFlow(
  state: RunState,
  call: CallRecord,
  manifest: FunctionManifest,
  active: ActiveRun,
): Promise<FlowVerdict | undefined> {
  const isRuled = manifest.flow?.mode !== undefined;
  if (!state.flow || !(isRuled || manifest.effect !== "read")) return undefined;
  const ended = endedBefore(state, call);
  const received = ended.map(evidenceOfPast);
  const written = await writtenIn(received, state.run.agentId, active);
  const facts = factsOf(state, state.flow, ended, written);
  if (facts.tainted) state.flow.labels.add("untrusted");
  const ending = call.approval ? undefined : endingOf(manifest, state.run);
  const fault = ending && flowFault(manifest, call.arguments, facts);
  const noted = writtenBy(call, manifest, facts, fault && ending);
  if (noted.size > 0) await withRetry(() => active.runs.noteWritten(state.run, noted), active);
  if (!isRuled) return undefined;
  const { tainted, secret, direct } = facts;
  const seen = { tainted, secret, ...(direct && { direct }) };
  if (ending === undefined) return { flow: { words: [], results: [], asks: false, ...seen } };
  const flow = {
    words: newest(state.flow.words),
    results: relevant(received, call),
    ...(written.size > 0 && { written: [...written.keys()] }),
    asks: fault !== undefined && ending === "ask",
    ...seen,
  };
  if (!fault) return { flow };
  active.observer.flowDisallowed(call, ending, fault);
  return { flow, fault, ...(ending === "deny" && { refusal: callFailure("denied", explainFlow(fault), "flow") }) };
}

/** What happens to a call with a fault. Undefined for a function without rules. */
export const endingOf = (manifest: FunctionManifest, { request }: Pick<RunRecord, "request">): FlowMode | undefined =>
  (manifest.flow?.targets ?? manifest.flow?.sends) ? flowEnding(manifest, request.flows) : undefined;

/** What tainted runs wrote, as digests; true for texts. */
export type Written = ReadonlyMap<string, boolean>;

/** What a run has seen before a call: its caller's texts, and the calls that ended. */
export function factsOf(
  { run: { request }, functions }: Pick<RunState, "run" | "functions">,
  { words, labels }: Pick<FlowMemory, "words"> & { labels: ReadonlySet<FlowLabel> },
  ended: readonly PastCall[],
  written: Written,
): FlowFacts {
  const received = ended.map(evidenceOfPast);
  const isRepeated = (value: string): boolean => written.get(value) === true;
  return {
    words: callersWords(words, [...contextForms(callerOf(request).context)]),
    results: received.map((one) => withoutValues(one, written)),
    tainted:
      labels.has("untrusted") ||
      hasStrangersWords({ request }, functions.values()) ||
      received.some((one) => one.untrusted.length > 0 || valuesOf(one).some(isRepeated)),
    secret: labels.has("secret") || received.some((one) => one.secret.length > 0),
    direct: request.testCall !== undefined,
  };
}

const valuesOf = ({ records }: FlowEvidence): string[] => records.flatMap(({ values }) => values);

/** The trusted values of a call that has ended, as digests. */
export const trustedIn = (past: PastCall): string[] => valuesOf(evidenceOfPast(past));

/** Words of a text that may tell a model what to do. */
const TEXT_WORDS = 3;

/**
 * What a call of a tainted run writes that is new: neither the caller nor a trusted result gave it. Read back, in this thread or another
 * one, it would look like the owner's. What a person approves is the person's. `ending`: what happens to the call because of a fault.
 */
export function writtenBy(
  call: CallRecord,
  { effect }: FunctionManifest,
  { tainted, words, results }: FlowFacts,
  ending?: FlowMode,
): Written {
  const values = new Map<string, boolean>();
  if (!tainted || effect === "read" || call.approval || ending === "ask" || ending === "deny") return values;
  const trusted = new Set(results.flatMap(valuesOf));
  for (const form of contextForms(call.arguments)) {
    const digest = digestOf(form);
    if (!trusted.has(digest) && !words.has(form)) values.set(digest, form.split(" ").length >= TEXT_WORDS);
  }
  return values;
}

/** Values in the results that a tainted run of the agent wrote before. They are looked up once per result. */
async function writtenIn(results: readonly FlowEvidence[], agentId: string, active: ActiveRun): Promise<Written> {
  const digests = results.filter((one) => !found.has(one)).flatMap(valuesOf);
  const written = digests.length > 0 && (await withRetry(() => active.runs.written(agentId, digests), active));
  for (const one of results)
    if (!found.has(one)) found.set(one, written ? [...written].filter(([value]) => valuesOf(one).includes(value)) : []);
  return new Map(results.flatMap((one) => found.get(one)!));
}

const found = new WeakMap<FlowEvidence, [value: string, isText: boolean][]>();

const endedBefore = ({ flow, calls, continuedCalls, run: { runId } }: RunState, call: CallRecord): PastCall[] =>
  [...flow!.earlier, ...calls.slice(continuedCalls).map((one) => ({ runId, call: one }))].filter(
    (one) => one.call !== call && one.call.outcome,
  );

/** A fault as the approver reads it. */
export function noticeOf(state: RunState, call: CallRecord, { value, ...fault }: FlowFault): FlowNotice {
  return { ...fault, source: state.flow ? sourceOf(fault.rule, value, endedBefore(state, call)) : "model" };
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

/** The results that have one of the call's values. */
function relevant(results: readonly FlowEvidence[], { arguments: given }: CallRecord): FlowEvidence[] {
  const values = new Set([...contextForms(given)].map(digestOf));
  return results.filter(({ records }) => records.some((one) => one.values.some((value) => values.has(value))));
}

function newest(words: readonly string[]): string[] {
  let left = MOST_WORDS;
  return words.filter(({ length }) => (left -= length) >= 0);
}

/** The newest result that has the value, or a secret. */
function sourceOf(rule: FlowFault["rule"], value: string | undefined, ended: readonly PastCall[]): FlowSource {
  for (const { outcome, callId: toolCallId, functionName: toolName } of ended.map(({ call }) => call).toReversed()) {
    if (!outcome?.ok) continue;
    const [path] = outcome.flow?.secret ?? [];
    if (rule === "secret" && path !== undefined) return { toolCallId, toolName, path };
    for (const { form, path } of leavesOf(outcome.value))
      if (form !== undefined && digestOf(form) === value) return { toolCallId, toolName, path: pathText(path) };
  }
  return "model";
}
