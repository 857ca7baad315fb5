import type { ModelRequest } from "../ports/model-provider.ts";
import { mostExpensive } from "./hold.ts";
import { RunFailure, uncappableModel, usd } from "./run-failure.ts";
import { spentMicros } from "./spent.ts";
import type { RunState } from "./state.ts";

/** Ends a run before a turn that could pass its cost cap. The most that the turn can cost decides: else the cap would not hold. */
export function keepWithinCap(state: RunState, request: ModelRequest): void {
  const { maxCostMicros: cap } = state.run.request;
  if (cap === undefined) return;
  const next = mostExpensive(state, request);
  if (!next) throw uncappableModel(state.model.model, cap);
  const spent = spentMicros(state);
  if (spent + next.micros <= cap) return;
  throw new RunFailure(
    "budget_exceeded",
    `The next model turn could pass the run's cost cap of ${usd(cap)}, so the run ended before it: ${usd(spent)} is spent, and the turn may cost up to ${usd(next.micros)} (${count(next.inputTokens)} input and ${count(request.maxTokens)} output tokens at most). Raise the cap (maxCostUsd of the agent), or lower maxTokens.`,
  );
}

const count = (tokens: number): string => tokens.toLocaleString("en-US");
