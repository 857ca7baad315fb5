import type { ModelRequest, ModelTurn, PartialUsage, TokenUsage } from "../ports/model-provider.ts";
import { estimatedInput } from "./hold.ts";
import type { RunState } from "./state.ts";

/** What attempts at a turn used and cost. */
export interface Spent {
  usage: TokenUsage;
  costMicros: number;
}

/** Keeps what an attempt cost that does not count. Each attempt has its own price: two of normal length are not a long one. */
export function discard(state: RunState, usage: TokenUsage): void {
  state.asking.discarded = spentWith(state, { usage });
}

/** An average, where `BYTES_PER_TOKEN` is for upper estimates: providers give it for English. */
const BYTES_PER_OUTPUT_TOKEN = 4;

/** What a provider bills for an attempt that was cut, estimated where it has not counted. */
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

/** What a turn cost, together with the attempts before it that do not count. */
export function spentWith({ model, asking }: RunState, { usage }: Pick<ModelTurn, "usage">): Spent {
  const spent = { usage, costMicros: model.cost(usage) ?? 0 };
  return asking.discarded ? sumOf(asking.discarded, spent) : spent;
}

function sumOf({ usage: a, ...before }: Spent, { usage: b, ...last }: Spent): Spent {
  const hour = (a.hourCacheWriteInput ?? 0) + (b.hourCacheWriteInput ?? 0);
  return {
    usage: {
      input: a.input + b.input,
      cachedInput: a.cachedInput + b.cachedInput,
      cacheWriteInput: (a.cacheWriteInput ?? 0) + (b.cacheWriteInput ?? 0),
      ...(hour > 0 && { hourCacheWriteInput: hour }),
      output: a.output + b.output,
    },
    costMicros: before.costMicros + last.costMicros,
  };
}

/** Micro-USD that the run has cost so far. */
export const spentMicros = ({ turns, asking }: RunState): number =>
  turns.reduce((sum, { costMicros }) => sum + costMicros, asking.discarded?.costMicros ?? 0);
