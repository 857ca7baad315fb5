import type { ChosenModel, ModelRequest, ModelTurn, PartialUsage, TokenUsage } from "../../ports/model-provider.ts";
import type { RunCommit } from "../../ports/store/run-store.ts";
import { withRetry } from "../run-context.ts";
import { insufficientCredits, RunFailure, uncappableModel, usd } from "../run-failure.ts";
import type { ActiveRun, RunState, Spent } from "../state.ts";
import { promptTokens } from "./compact.ts";
import { nextTurn } from "./request.ts";

/**
 * The credit to reserve for a run's next turn, stored together with the step before it; undefined when the organisation is not
 * charged. Reserving in the same commit saves a transaction per turn.
 */
export function nextReservation(state: RunState): RunCommit["reserve"] {
  if (!state.run.request.charged) return undefined;
  return { step: state.turns.length, micros: maxCostOf(state, nextTurn(state).request) };
}

/** A turn's maximum cost in micro-USD; 0 when the organisation is not charged or the model has no price. */
const maxCostOf = (state: RunState, request: ModelRequest): number =>
  state.run.request.charged ? (mostExpensive(state, request)?.micros ?? 0) : 0;

/**
 * Ensures that the turn's maximum cost is within the run's cost cap and reserved. Called before each attempt: failed
 * attempts have used a part of the reservation. Throws `RunFailure` `budget_exceeded` or `insufficient_credits`.
 */
export async function payAhead(state: RunState, request: ModelRequest, active: ActiveRun): Promise<void> {
  checkCap(state, request);
  if (!state.run.request.charged) return;
  const micros = maxCostOf(state, request) + (state.asking.discarded?.costMicros ?? 0);
  // The step before has usually reserved enough. Without this check each turn would need a separate transaction.
  if (state.reservedMicros >= micros) return;
  const { orgId, runId } = state.run;
  const reserved = await withRetry(() => active.runs.reserve(orgId, runId, state.turns.length, micros), active);
  if (reserved === undefined) throw insufficientCredits();
  state.reservedMicros = reserved;
}

/**
 * Throws before a turn that could exceed the run's cost cap. An estimate of the usual cost would let single turns
 * exceed it.
 */
function checkCap(state: RunState, request: ModelRequest): void {
  const { maxCostMicros: cap } = state.run.request;
  if (cap === undefined) return;
  const next = mostExpensive(state, request);
  if (!next) throw uncappableModel(state.model.model, cap);
  const spent = spentMicros(state);
  if (spent + next.micros <= cap) return;
  throw new RunFailure(
    "budget_exceeded",
    `The next model turn could exceed the run's cost cap of ${usd(cap)}, so the run ended before it: ${usd(spent)} is spent, and the turn may cost up to ${usd(next.micros)} (${count(next.inputTokens)} input and ${count(request.maxTokens)} output tokens at most). Raise the cap (maxCostUsd of the agent) or lower maxTokens.`,
  );
}

const count = (tokens: number): string => tokens.toLocaleString("en-US");

/**
 * A turn's maximum cost; undefined for a model without a price. A provider may write all the input to its cache or
 * none, and an operator's price file may make either the more expensive one.
 */
export function mostExpensive(
  state: Pick<RunState, "model" | "inputRatio">,
  request: ModelRequest,
): { micros: number; inputTokens: number } | undefined {
  const { model } = state;
  const inputTokens = estimatedInput(state, request);
  const usage = { input: inputTokens, cachedInput: 0, output: request.maxTokens };
  const plain = model.cost(usage);
  const written = model.cost({ ...usage, cacheWriteInput: inputTokens });
  return plain === undefined || written === undefined ? undefined : { micros: Math.max(plain, written), inputTokens };
}

/** A request's input tokens, raised by the ratio by which the last turn exceeded its estimate. */
export const estimatedInput = ({ inputRatio }: Pick<RunState, "inputRatio">, request: ModelRequest): number =>
  Math.ceil(promptTokens(request) * inputRatio);

/** Updates the ratio between a turn's input and its estimate. A provider that reports no usage does not change it. */
export function learnRatio(state: RunState, request: ModelRequest, usage: TokenUsage): void {
  if (usage.input > 0) state.inputRatio = Math.max(1, usage.input / promptTokens(request));
}

/** False for a model whose turns cannot be charged. */
export const hasPrice = (model: ChosenModel): boolean =>
  model.cost({ input: 0, cachedInput: 0, output: 0 }) !== undefined;

/** Adds the cost of a failed attempt to the turn. Each attempt is priced by itself: long-context prices apply per request. */
export function discard(state: RunState, usage: TokenUsage): void {
  state.asking.discarded = spentWith(state, { usage });
}

/** An average that providers give for English; `BYTES_PER_TOKEN` is for upper estimates. */
const BYTES_PER_OUTPUT_TOKEN = 4;

/** What a provider bills for an attempt that was cut off; estimated where the provider sent no count. */
export function billed(
  state: Pick<RunState, "inputRatio">,
  request: ModelRequest,
  { counted, uncountedBytes }: PartialUsage,
): TokenUsage {
  const written = counted.output + Math.ceil(uncountedBytes / BYTES_PER_OUTPUT_TOKEN);
  return {
    ...counted,
    input: counted.input || estimatedInput(state, request),
    output: Math.max(counted.output, Math.min(written, request.maxTokens)),
  };
}

/** A turn's cost, failed attempts included. */
export function spentWith({ model, asking }: RunState, { usage }: Pick<ModelTurn, "usage">): Spent {
  const spent = { usage, costMicros: model.cost(usage) ?? 0 };
  return asking.discarded ? sumOf(asking.discarded, spent) : spent;
}

function sumOf({ usage: a, ...before }: Spent, { usage: b, ...last }: Spent): Spent {
  const reasoning = (a.reasoning ?? 0) + (b.reasoning ?? 0);
  const hour = (a.hourCacheWriteInput ?? 0) + (b.hourCacheWriteInput ?? 0);
  return {
    usage: {
      input: a.input + b.input,
      cachedInput: a.cachedInput + b.cachedInput,
      cacheWriteInput: (a.cacheWriteInput ?? 0) + (b.cacheWriteInput ?? 0),
      ...(hour > 0 && { hourCacheWriteInput: hour }),
      output: a.output + b.output,
      ...(reasoning > 0 && { reasoning }),
    },
    costMicros: before.costMicros + last.costMicros,
  };
}

/** The run's cost so far, in micro-USD. */
const spentMicros = ({ turns, asking }: RunState): number =>
  turns.reduce((sum, { costMicros }) => sum + costMicros, asking.discarded?.costMicros ?? 0);
