import type { ModelTurn, TokenUsage } from "../ports/model-provider.ts";
import type { RunState } from "./state.ts";

/** What attempts at a turn used and cost. */
export interface Spent {
  usage: TokenUsage;
  costMicros: number;
}

/** Keeps what an attempt cost that does not count. Each attempt has its own price: two of normal length are not a long one. */
export function discard(state: RunState, turn: ModelTurn): void {
  state.asking.discarded = spentWith(state, turn);
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
