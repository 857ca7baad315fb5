import {
  type ChosenModel,
  type ModelDelta,
  ModelError,
  type ModelErrorKind,
  type ModelRequest,
  type ModelTurn,
  type PartialUsage,
  type TokenUsage,
} from "../../ports/model-provider.ts";
import type { EndedAttempt } from "../../ports/metrics.ts";
import type { ModelRetry } from "../../ports/records.ts";
import { RunFailure } from "../run-failure.ts";
import type { ActiveRun } from "../state.ts";

/** Attempts after the first; the rate limits of every provider allow them. */
const RETRIES = 2;
/** A provider that sends no byte for this long has lost the connection. */
export const IDLE_MS = 60_000;
/** The longest wait before a retry that a provider may ask for; half of the run's remaining time when that is shorter. */
const MAX_WAIT_MS = 30_000;

/** Receives what the attempts at one turn produce and cost. */
export interface AttemptObserver {
  text(text: string): void;
  thought(text: string): void;
  /** The text of this attempt, which was shown, does not count. */
  reset(): void;
  /** A whole attempt does not count. The provider bills it all the same. */
  discarded(usage: TokenUsage): void;
  /** An attempt ended before its turn was complete. */
  cut(used: PartialUsage): void;
  /** `took`: the times of an attempt that succeeded. */
  ended(outcome: "succeeded" | ModelErrorKind, took?: Pick<EndedAttempt, "ms" | "firstTokenMs">): void;
  /** Another attempt follows after a pause. Throws to prevent it. */
  retry(code: ModelRetry["code"], waitMs: number): Promise<void>;
}

/**
 * Asks the model for one turn, with retries. Nothing of a failed attempt is kept. Throws `ModelError` when the attempts are used
 * up, when a retry cannot help, or when the provider asks for a longer wait than the run can afford; `signal.reason` when aborted.
 */
export async function takeTurn(
  model: ChosenModel,
  request: ModelRequest,
  active: Pick<ActiveRun, "clock" | "log" | "remainingMs" | "segment" | "signal" | "providerIdleMs">,
  observer: AttemptObserver,
): Promise<ModelTurn> {
  const { clock, log, segment, signal } = active;
  const preview = previewOf(observer);
  const { text, thought } = preview;
  const attemptOnce = () => attemptTurn(model, request, active, { text, thought, cut: observer.cut });
  let wasHollow = false;
  for (let attempt = 0; ; attempt++) {
    const beganAt = performance.now();
    try {
      const turn = await (segment ? segment.attempt(model, request, attemptOnce) : attemptOnce());
      const { shownAt } = preview;
      const firstToken = shownAt === undefined ? {} : { firstTokenMs: shownAt - beganAt };
      observer.ended("succeeded", { ms: performance.now() - beganAt, ...firstToken });
      // The caller of this function asks again with a shorter conversation, or ends the run.
      if (turn.stop === "context_window") preview.discard();
      // After an empty turn or an unreadable call, models usually succeed on a second request.
      if (!isHollow(turn) || wasHollow || attempt >= RETRIES) return turn;
      wasHollow = true;
      preview.discard();
      observer.discarded(turn.usage);
      await observer.retry(turn.stop === "malformed" ? "malformed" : "empty", 0);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ModelError)) throw error;
      preview.discard();
      observer.ended(error.kind);
      const { kind, message: cause } = error;
      log.warn("model turn failed", { provider: model.provider.name, kind, attempt, cause });
      if (!error.retryable || attempt >= RETRIES) throw error;
      const pauseMs = Math.round(waitMs(error, attempt));
      if (pauseMs > Math.min(MAX_WAIT_MS, active.remainingMs() / 2)) throw error;
      await observer.retry(kind, pauseMs);
      await clock.sleep(pauseMs, { signal });
    }
  }
}

/** True for a turn without text and calls. */
export const isEmpty = ({ text, calls }: ModelTurn): boolean => text.trim() === "" && calls.length === 0;

const isHollow = (turn: ModelTurn): boolean => turn.stop === "malformed" || (turn.stop === "stop" && isEmpty(turn));

/** Remembers when followers were first shown a part of the current attempt; `discard` withdraws that part. */
function previewOf(observer: AttemptObserver) {
  let shownAt: number | undefined;
  return {
    get shownAt() {
      return shownAt;
    },
    text(text: string): void {
      shownAt ??= performance.now();
      observer.text(text);
    },
    thought(text: string): void {
      shownAt ??= performance.now();
      observer.thought(text);
    },
    discard(): void {
      if (shownAt !== undefined) observer.reset();
      shownAt = undefined;
    },
  };
}

async function attemptTurn(
  model: ChosenModel,
  request: ModelRequest,
  { signal, providerIdleMs = IDLE_MS }: Pick<ActiveRun, "signal" | "providerIdleMs">,
  observer: Pick<AttemptObserver, "text" | "thought" | "cut">,
): Promise<ModelTurn> {
  const turn = new AbortController();
  const abort = (): void => turn.abort(signal.reason);
  // Without this limit a connection that died without a reset would block the run until its deadline.
  let silent: ModelError | undefined;
  const timer = setTimeout(() => {
    silent = new ModelError("truncated", `no data for ${providerIdleMs} ms`);
    turn.abort(silent);
  }, providerIdleMs);
  try {
    signal.throwIfAborted();
    signal.addEventListener("abort", abort);
    for await (const event of model.provider.stream(request, { signal: turn.signal })) {
      timer.refresh();
      if (event.type === "end") return event.turn;
      if (event.type === "cut") observer.cut(event);
      else if (event.type === "deltas") for (const delta of event.deltas) show(delta, observer);
      else show(event, observer);
    }
    throw new ModelError("truncated", "the adapter ended without a turn");
  } catch (error) {
    // An adapter may throw an error of its own when it is aborted: the silence is the cause.
    if (silent && !signal.aborted) throw silent;
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

function show({ type, text }: ModelDelta, observer: Pick<AttemptObserver, "text" | "thought">): void {
  if (type === "textDelta") observer.text(text);
  else observer.thought(text);
}

/** The wait that the provider asks for, or exponential back-off with full jitter, whichever is longer. */
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

/** Why a provider failed, for the caller of the API. */
export function reasonOf({ kind, retryAfterMs }: ModelError): string {
  const wait = retryAfterMs === undefined ? "" : ` (it asks for ${Math.ceil(retryAfterMs / 1000)} s)`;
  return `${REASONS[kind]}${wait}`;
}

/** The end of a run whose model failed. Logs only the adapter's message: the SDK's error has the provider's body, which may quote a key or the query. */
export function providerFailure(model: ChosenModel, error: ModelError): RunFailure {
  const which = error.kind === "unknown_model" ? ` (${model.model})` : "";
  const text = `Provider ${model.provider.name} failed: ${reasonOf(error)}${which}`;
  return new RunFailure("provider_error", text, { cause: error.message });
}
