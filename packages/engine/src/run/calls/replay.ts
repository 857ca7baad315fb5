import { type FlowFinding, flowFault, labelsIn, labelsOf } from "@patchbay/access";
import type { FlowFault, Manifest, StoredCall } from "@patchbay/protocol";
import { canonicalJson } from "@patchbay/kit";
import type { RunRecord } from "../../ports/records.ts";
import type { Store } from "../../ports/store/stores.ts";
import { visibleFunctions } from "../role-check.ts";
import { historyScope, type PastCall } from "../state.ts";
import { endingOf, factsOf, recallFlow, trustedIn, writtenBy } from "./flow.ts";

type Stores = Pick<Store, "runs" | "runtimes">;
type Replayed = Pick<StoredCall, "runId" | "callId" | "functionName">;

/** What data-flow rules say about a stored call. Undefined if they allow it. */
export type FlowReplay = (call: Replayed) => Promise<FlowFinding | undefined>;

/** Replays a function set's data-flow rules on an agent's stored calls. A run is read once for calls that are asked about together. */
export function flowReplay(stores: Stores, agentId: string, manifest: Manifest): FlowReplay {
  const isRuled = new Set(manifest.functions.filter(({ flow }) => flow?.mode !== undefined).map(({ name }) => name));
  const running = new Map<string, Promise<ReadonlyMap<string, FlowFinding>>>();
  return async ({ runId, callId, functionName }) => {
    if (!isRuled.has(functionName)) return undefined;
    const found =
      running.get(runId) ?? replayRun(stores, { agentId, runId }, manifest).finally(() => running.delete(runId));
    running.set(runId, found);
    return (await found).get(callId);
  };
}

/** The whole thread is read again, so that its runs inherit nothing. */
const NONE = new Set<never>();

async function replayRun(
  { runs, runtimes }: Stores,
  { agentId, runId }: Pick<RunRecord, "agentId" | "runId">,
  manifest: Manifest,
): Promise<Map<string, FlowFinding>> {
  const findings = new Map<string, FlowFinding>();
  const run = await runs.get(agentId, runId);
  if (!run) return findings;
  const { threadId, ...scope } = historyScope(run);
  const { entries } = await runs.history(threadId, { before: runId, ...scope, maxBytes: Number.MAX_SAFE_INTEGER });
  const memory = (await recallFlow(run, manifest, entries, runs))!;
  const continues = run.request.retryOf?.continues ?? [];
  const stored = await Promise.all([...continues, runId].map((id) => runs.checkpoint(id)));
  const calls = stored.flatMap((one) => one.calls.map((call) => ({ runId, call })));
  const recorded = await runtimes.getManifest(agentId, run.manifestHash ?? "");
  const label = labelling(manifest, recorded);
  const past = [...memory.earlier.filter((one) => !continues.includes(one.runId)), ...calls].map(label);
  // Another service of the agent may have returned a result.
  const visible = [recorded, manifest].flatMap((set) => (set ? visibleFunctions(set, run.role) : []));
  const functions = new Map(visible.map((one) => [one.name, one]));
  const values = past.flatMap((one) => (one.call.outcome ? trustedIn(one) : []));
  const written = new Map(await runs.written(agentId, values));
  const ended: PastCall[] = [];
  // The calls of one turn are decided before any of them runs.
  for (const ofTurn of Map.groupBy(past, (one) => `${one.runId} ${one.call.step}`).values()) {
    const facts = factsOf({ run, functions }, { words: memory.words, labels: NONE }, ended, written);
    for (const { runId: of, call } of ofTurn) {
      const one = functions.get(call.functionName);
      if (!one) continue;
      const mode = endingOf(one, run);
      const fault = mode && flowFault(one, call.arguments, facts);
      if (fault && of === runId) findings.set(call.callId, { mode, fault, after: sourcesOf(fault, ended) });
      for (const [value, isText] of writtenBy(call, one, facts, fault && mode)) written.set(value, isText);
    }
    ended.push(...ofTurn.filter(({ call }) => call.outcome));
  }
  return findings;
}

function sourcesOf({ rule }: FlowFault, ended: readonly PastCall[]): string[] {
  const label = rule === "secret" ? "secret" : "untrusted";
  const sources = ended.filter(({ call }) => (call.outcome?.flow?.[label] ?? []).length > 0);
  return [...new Set(sources.map(({ call }) => call.functionName))];
}

/** Gives stored results the labels of a function set, where these differ from those of the set that returned them. */
function labelling(manifest: Manifest, recorded: Manifest | undefined): (past: PastCall) => PastCall {
  const by = (set: Manifest | undefined) => new Map(set?.functions.map((one) => [one.name, labelsOf(one)]));
  const [is, was] = [by(manifest), by(recorded)];
  const isSame = (name: string): boolean => canonicalJson(is.get(name)) === canonicalJson(was.get(name));
  return ({ runId, call }) => {
    const { functionName, outcome } = call;
    // A function that is not in the set may be one of another service.
    if (!outcome || !is.has(functionName) || isSame(functionName)) return { runId, call };
    return { runId, call: { ...call, outcome: { ...outcome, flow: labelsIn(is.get(functionName) ?? {}, outcome) } } };
  };
}
