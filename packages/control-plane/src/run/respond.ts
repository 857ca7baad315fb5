import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { ModelError, type ModelErrorKind, type ModelRequest, type ModelTurn } from "../ports/model-provider.ts";
import type { RunStore } from "../ports/run-store.ts";
import { mostOf } from "./hold.ts";
import { keepWithinCap } from "./cost-cap.ts";
import type { Journal } from "./journal.ts";
import { providerFailure, takeTurn, type TurnDeps } from "./model-turn.ts";
import { patiently } from "./patience.ts";
import { type Asking, nextRequest, shrink } from "./request.ts";
import { insufficientCredits } from "./run-failure.ts";
import { discard } from "./spent.ts";
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
  onAttempt(outcome: "succeeded" | ModelErrorKind): void;
}

/** The next turn of a run's model, on as much of the conversation as fits, paid for in advance. Stores nothing but the hold. */
export async function respond(
  state: RunState,
  asking: Asking,
  deps: RespondDeps,
  signal: AbortSignal,
): Promise<ModelTurn> {
  const onRetry: TurnDeps["onRetry"] = (code, waitedMs) =>
    state.asking.turn?.retries.push({ at: deps.clock.now(), code, waitedMs });
  for (;;) {
    const request = nextRequest(state, asking);
    keepWithinCap(state, request);
    await patiently(() => hold(state, request, deps), { ...deps, signal });
    state.asking.turn ??= { beganAt: deps.clock.now(), retries: [] };
    try {
      const { journal } = deps;
      const onText = (content: string): void =>
        journal.live({ type: asking.planning || state.respond ? "thoughtDelta" : "responseDelta", content });
      const onThought = (content: string): void => journal.live({ type: "thoughtDelta", content });
      const onReset = (): void => journal.live({ type: "deltaReset" });
      const onDiscard = (turn: ModelTurn): void => {
        discard(state, turn);
        keepWithinCap(state, request);
      };
      deps.onAsking();
      const on = { onRetry, onText, onThought, onReset, onDiscard };
      const turn = await takeTurn(state.model, request, { ...deps, ...on }, signal);
      if (turn.stop !== "context_window" || !shrink(state)) return turn;
      discard(state, turn);
    } catch (error) {
      if (!(error instanceof ModelError) || !shrink(state)) throw asFailure(state, error);
    }
    onRetry("context_window", 0);
  }
}

function asFailure(state: RunState, error: unknown): unknown {
  return error instanceof ModelError ? providerFailure(state.model, error) : error;
}

/** Credits for the turn are as a rule held by the step before it. */
async function hold(state: RunState, request: ModelRequest, { runs }: RespondDeps): Promise<void> {
  if (state.heldMicros > 0) return;
  const micros = mostOf(state, request);
  if (micros === 0) return;
  const { orgId, runId } = state.run;
  const held = await runs.hold(orgId, runId, state.turns.length, micros);
  if (held === undefined) throw insufficientCredits();
  state.heldMicros = held;
}
