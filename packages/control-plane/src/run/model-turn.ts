import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import {
  ModelError,
  type ChosenModel,
  type ModelErrorKind,
  type ModelRequest,
  type ModelTurn,
} from "../ports/model-provider.ts";
import type { ModelRetry } from "../ports/records.ts";
import { RunFailure } from "./run-failure.ts";

/** Two further attempts after the first, as every provider's limits allow. */
const RETRIES = 2;
/** A provider that sends nothing for this long has gone away. */
const IDLE_MS = 60_000;

export interface TurnDeps {
  clock: Clock;
  log: Log;
  onText(text: string): void;
  onThought(text: string): void;
  onAttempt(outcome: "succeeded" | ModelErrorKind): void;
  /** Called when the model is to be asked once more, after a pause. */
  onRetry(code: ModelRetry["code"], waitMs: number): void;
}

/**
 * Asks the model for one turn, again where another attempt may help. Nothing of a failed attempt is kept. Throws `RunFailure`
 * `provider_error` when the attempts are used up, `ModelError` `context_window` as it is, and `signal.reason` when aborted.
 */
export async function takeTurn(
  model: ChosenModel,
  request: ModelRequest,
  deps: TurnDeps,
  signal: AbortSignal,
): Promise<ModelTurn> {
  for (let attempt = 0; ; attempt++) {
    try {
      const turn = await attemptTurn(model, request, deps, signal);
      deps.onAttempt("succeeded");
      // A call its own wire could not read, or nothing at all: models do better when asked once more.
      const hollow = turn.stop === "malformed" || (turn.stop === "stop" && turn.text === "" && turn.calls.length === 0);
      if (!hollow || attempt > 0) return turn;
      deps.onRetry(turn.stop === "malformed" ? "malformed" : "empty", 0);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ModelError)) throw error;
      deps.onAttempt(error.kind);
      deps.log.warn("model turn failed", {
        provider: model.provider.name,
        kind: error.kind,
        attempt,
        cause: error.message,
      });
      if (error.kind === "context_window") throw error;
      if (!error.retryable || attempt >= RETRIES) throw providerFailure(model, error);
      const pauseMs = Math.round(waitMs(error, attempt));
      deps.onRetry(error.kind, pauseMs);
      await deps.clock.sleep(pauseMs, { signal });
    }
  }
}

async function attemptTurn(
  model: ChosenModel,
  request: ModelRequest,
  deps: TurnDeps,
  signal: AbortSignal,
): Promise<ModelTurn> {
  const turn = new AbortController();
  const abort = (): void => turn.abort(signal.reason);
  let silent: ModelError | undefined;
  const timer = setTimeout(giveUp, IDLE_MS);
  function giveUp(): void {
    silent = new ModelError("truncated", `no data for ${IDLE_MS} ms`);
    turn.abort(silent);
  }
  try {
    signal.throwIfAborted();
    signal.addEventListener("abort", abort);
    for await (const event of model.provider.stream(request, { signal: turn.signal })) {
      timer.refresh();
      if (event.type === "textDelta") deps.onText(event.text);
      else if (event.type === "thoughtDelta") deps.onThought(event.text);
      else return event.turn;
    }
    throw new ModelError("truncated", "the adapter ended without a turn");
  } catch (error) {
    if (silent && !signal.aborted) throw silent;
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

/** What the provider asks for, else exponential back-off with full jitter. */
function waitMs(error: ModelError, attempt: number): number {
  const backoff = Math.random() * 500 * 2 ** attempt;
  return Math.max(error.retryAfterMs ?? 0, backoff);
}

const REASONS: Record<ModelError["kind"], string> = {
  rate_limited: "it is limiting requests; try again later",
  quota: "the account's quota or spending limit is used up",
  overloaded: "it is overloaded; try again later",
  authentication: "it refused the configured API key",
  bad_request: "it refused the request",
  context_window: "the conversation is too long for the model",
  network: "it could not be reached",
  truncated: "its answer was cut off",
  server: "it had an internal error; try again later",
};

/** Keeps the adapter's own words alone: what the SDK threw below them holds the provider's body, and may quote a key or the query. */
export function providerFailure(model: ChosenModel, error: ModelError): RunFailure {
  const text = `Provider ${model.provider.name} failed: ${REASONS[error.kind]}`;
  return new RunFailure("provider_error", text, { cause: error.message });
}
