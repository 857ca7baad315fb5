import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import {
  ModelError,
  type ModelErrorKind,
  type ModelRequest,
  type ModelTurn,
  type PartialUsage,
  type TokenUsage,
} from "../ports/model-provider.ts";
import type { ModelRetry } from "../ports/records.ts";
import type { RunStore } from "../ports/run-store.ts";
import { keepWithinCap } from "./cost-cap.ts";
import { allFailed, fallBack, fallbackWarnings, type FailedModel } from "./fallback.ts";
import { measure, mostOf } from "./hold.ts";
import type { Journal } from "./journal.ts";
import { takeTurn, type TurnDeps } from "./model-turn.ts";
import { patiently } from "./patience.ts";
import { type Asking, nextRequest, shrink } from "./request.ts";
import { insufficientCredits } from "./run-failure.ts";
import { billed, discard } from "./spent.ts";
import type { RunState } from "./state.ts";

export interface RespondDeps {
  runs: RunStore;
  journal: Journal;
  clock: Clock;
  log: Log;
  remainingMs(): number;
  /** Silence after which a provider is given up. */
  idleMs?: number;
  /** Called before the model is asked. */
  onAsking(): void;
  onAttempt(provider: string, outcome: "succeeded" | ModelErrorKind): void;
}

/**
 * The next turn of a run, on as much of the conversation as fits, paid for in advance. A model that fails is replaced by the next
 * one of the run's list, which the run then keeps. Stores nothing but the hold.
 */
export async function respond(
  state: RunState,
  asking: Asking,
  deps: RespondDeps,
  signal: AbortSignal,
): Promise<ModelTurn> {
  const failed: FailedModel[] = [];
  for (;;) {
    const request = nextRequest(state, asking);
    const { model } = state;
    const asked = { provider: model.provider.name, model: model.model };
    const onRetry = (code: ModelRetry["code"], waitedMs: number): void =>
      void state.asking.turn?.retries.push({ at: deps.clock.now(), code, waitedMs, ...asked });
    const payAhead = async (): Promise<void> => {
      keepWithinCap(state, request);
      await patiently(() => hold(state, request, deps), { ...deps, signal });
    };
    const attempts = {
      onDiscard(usage: TokenUsage): void {
        measure(state, request, usage);
        discard(state, usage);
      },
      onCut: (used: PartialUsage): void => attempts.onDiscard(billed(state, request, used)),
      async onRetry(code: ModelRetry["code"], waitMs: number): Promise<void> {
        await payAhead();
        onRetry(code, waitMs);
      },
    };
    await payAhead();
    state.asking.turn = { beganAt: deps.clock.now(), retries: [], ...state.asking.turn, ...asked };
    try {
      deps.onAsking();
      const turn = await takeTurn(model, request, { ...turnDeps(state, asking, deps), ...attempts }, signal);
      measure(state, request, turn.usage);
      if (turn.stop !== "context_window" || !shrink(state))
        return { ...turn, warnings: [...fallbackWarnings(failed, model), ...(turn.warnings ?? [])] };
      discard(state, turn.usage);
      onRetry("context_window", 0);
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      if (error.kind !== "context_window" || !shrink(state)) {
        failed.push({ model, error });
        if (!fallBack(state, error)) throw allFailed(failed);
        deps.log.warn("another model is asked", { failed: asked, kind: error.kind, next: state.model.model });
      }
      onRetry(error.kind, 0);
    }
  }
}

function turnDeps(
  { model, respond }: RunState,
  { planning }: Asking,
  deps: RespondDeps,
): Omit<TurnDeps, "onRetry" | "onDiscard" | "onCut"> {
  const { journal } = deps;
  return {
    ...deps,
    onText: (content) => journal.live({ type: planning || respond ? "thoughtDelta" : "responseDelta", content }),
    onThought: (content) => journal.live({ type: "thoughtDelta", content }),
    onReset: () => journal.live({ type: "deltaReset" }),
    onAttempt: (outcome) => deps.onAttempt(model.provider.name, outcome),
  };
}

/**
 * Credits for the turn are as a rule held by the step before it, as many as the model of that step could cost. Attempts that do
 * not count have used up a part of them.
 */
async function hold(state: RunState, request: ModelRequest, { runs }: RespondDeps): Promise<void> {
  if (!state.run.request.charged) return;
  const micros = mostOf(state, request) + (state.asking.discarded?.costMicros ?? 0);
  if (state.heldMicros >= micros) return;
  const { orgId, runId } = state.run;
  const held = await runs.hold(orgId, runId, state.turns.length, micros);
  if (held === undefined) throw insufficientCredits();
  state.heldMicros = held;
}
