import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import {
  ModelError,
  type ChosenModel,
  type ModelErrorKind,
  type ModelRequest,
  type ModelTurn,
  type PartialUsage,
  type TokenUsage,
} from "../ports/model-provider.ts";
import type { ModelRetry } from "../ports/records.ts";
import { RunFailure } from "./run-failure.ts";

/** Two further attempts after the first, as every provider's limits allow. */
const RETRIES = 2;
/** A provider whose connection carries no byte for this long has gone away. */
export const IDLE_MS = 60_000;
/** The longest wait that a provider may ask for; half of the run's time, where that is shorter. */
const MAX_WAIT_MS = 30_000;

export interface TurnDeps {
  clock: Clock;
  log: Log;
  /** Default `IDLE_MS`. */
  idleMs?: number;
  /** Time until the run's deadline. */
  remainingMs(): number;
  onText(text: string): void;
  onThought(text: string): void;
  /** Called when an attempt whose text was shown does not count. */
  onReset(): void;
  /** Called with what a whole attempt used that does not count: the provider bills it all the same. */
  onDiscard(usage: TokenUsage): void;
  /** Called with what an attempt used that ended before its turn. */
  onCut(used: PartialUsage): void;
  onAttempt(outcome: "succeeded" | ModelErrorKind): void;
  /** Called when the model is to be asked once more, after a pause. May throw to end the attempts. */
  onRetry(code: ModelRetry["code"], waitMs: number): Promise<void>;
}

/**
 * Asks the model for one turn, again where another attempt may help. Nothing of a failed attempt is kept. Throws `ModelError`
 * when the attempts are used up, when another one cannot help, and when the provider asks for a longer wait than the run can
 * give; `signal.reason` when aborted.
 */
export async function takeTurn(
  model: ChosenModel,
  request: ModelRequest,
  deps: TurnDeps,
  signal: AbortSignal,
): Promise<ModelTurn> {
  const preview = previewOf(deps);
  let hollow = false;
  for (let attempt = 0; ; attempt++) {
    try {
      const turn = await attemptTurn(model, request, { ...deps, ...preview }, signal);
      deps.onAttempt("succeeded");
      // Cut off by the model's window, it is asked for once more with less, or ends the run.
      if (turn.stop === "context_window") preview.discard();
      // A call its own wire could not read, or nothing at all: models do better when asked once more.
      if (!isHollow(turn) || hollow || attempt >= RETRIES) return turn;
      hollow = true;
      preview.discard();
      deps.onDiscard(turn.usage);
      await deps.onRetry(turn.stop === "malformed" ? "malformed" : "empty", 0);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ModelError)) throw error;
      preview.discard();
      deps.onAttempt(error.kind);
      deps.log.warn("model turn failed", {
        provider: model.provider.name,
        kind: error.kind,
        attempt,
        cause: error.message,
      });
      if (!error.retryable || attempt >= RETRIES) throw error;
      const pauseMs = Math.round(waitMs(error, attempt));
      if (pauseMs > Math.min(MAX_WAIT_MS, deps.remainingMs() / 2)) throw error;
      await deps.onRetry(error.kind, pauseMs);
      await deps.clock.sleep(pauseMs, { signal });
    }
  }
}

/** True for a turn that says nothing and asks for nothing. */
export const isEmpty = ({ text, calls }: ModelTurn): boolean => text.trim() === "" && calls.length === 0;

const isHollow = (turn: ModelTurn): boolean => turn.stop === "malformed" || (turn.stop === "stop" && isEmpty(turn));

/** What followers are shown of an attempt while it is made; `discard` takes it back. */
function previewOf({ onText, onThought, onReset }: TurnDeps) {
  let shown = false;
  return {
    onText(text: string): void {
      shown = true;
      onText(text);
    },
    onThought(text: string): void {
      shown = true;
      onThought(text);
    },
    discard(): void {
      if (shown) onReset();
      shown = false;
    },
  };
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
  const { idleMs = IDLE_MS } = deps;
  const timer = setTimeout(giveUp, idleMs);
  function giveUp(): void {
    silent = new ModelError("truncated", `no data for ${idleMs} ms`);
    turn.abort(silent);
  }
  try {
    signal.throwIfAborted();
    signal.addEventListener("abort", abort);
    for await (const event of model.provider.stream(request, { signal: turn.signal })) {
      timer.refresh();
      if (event.type === "textDelta") deps.onText(event.text);
      else if (event.type === "thoughtDelta") deps.onThought(event.text);
      else if (event.type === "cut") deps.onCut(event);
      else if (event.type === "end") return event.turn;
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
  unknown_model: "it does not offer this model to the configured account",
  bad_request: "it refused the request; the service's log has its reason",
  context_window: "the conversation is too long for the model",
  network: "the connection could not be made, or was lost in its answer",
  truncated: "its answer was cut off",
  malformed: "it wrote function calls that cannot be read",
  server: "it had an internal error; try again later",
};

/** Why a provider failed, as callers read it. */
export function reasonOf({ kind, retryAfterMs }: ModelError): string {
  const wait = retryAfterMs === undefined ? "" : ` (it asks for ${Math.ceil(retryAfterMs / 1000)} s)`;
  return `${REASONS[kind]}${wait}`;
}

/** Keeps only the adapter's own words: what the SDK threw below them holds the provider's body, and may quote a key or the query. */
export function providerFailure(model: ChosenModel, error: ModelError): RunFailure {
  const which = error.kind === "unknown_model" ? ` (${model.model})` : "";
  const text = `Provider ${model.provider.name} failed: ${reasonOf(error)}${which}`;
  return new RunFailure("provider_error", text, { cause: error.message });
}
