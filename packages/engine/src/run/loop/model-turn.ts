import { wellFormed, wellFormedJson, wholePairs } from "@patchbay/kit";
import { clearTimer, monotonicMs, randomFraction, setTimeout } from "@patchbay/kit/time";
import { addAbortListener } from "node:events";
import {
  type ChosenModel,
  ModelError,
  type ModelErrorKind,
  type ModelRequest,
  type ModelTurn,
  type PartialUsage,
  type TokenUsage,
} from "../../ports/model-provider.ts";
import type { EndedAttempt } from "../../ports/metrics.ts";
import type { ModelRetry } from "../../ports/records.ts";
import { OUT_OF_FILES } from "../../ports/open-files.ts";
import { RunFailure } from "../run-failure.ts";
import type { ActiveRun } from "../state.ts";

/** Attempts after the first; every provider's rate limits allow them. */
const RETRIES = 2;
/** A provider that sends no byte for this long has lost the connection. */
export const IDLE_MS = 60_000;
/** Followers get a status when they were shown nothing for this long. */
export const SILENT_MS = 10_000;
/** The longest wait before a retry that a provider may ask for; half the run's remaining time when that is shorter. */
const MAX_WAIT_MS = 30_000;

/** Observes what the attempts at one turn produce and cost. */
export interface AttemptObserver {
  text(text: string): void;
  thought(text: string): void;
  /** This attempt's text, which was shown, does not count. */
  reset(): void;
  /** A whole attempt does not count, although the provider bills it. */
  discarded(usage: TokenUsage): void;
  /** An attempt ended before its turn was complete. */
  cut(used: PartialUsage): void;
  /** The model has sent no text and no thought for a while. Once for each such silence. */
  silent(): void;
  succeeded(took: Pick<EndedAttempt, "ms" | "firstTokenMs">): void;
  failed(error: ModelError): void;
  /** Another attempt follows after a pause. Throws to prevent it. */
  retry(code: ModelRetry["code"], waitMs: number): Promise<void>;
}

/**
 * Asks the model for one turn, with retries, and discards failed attempts. Throws `ModelError` when the attempts are
 * used up, when a retry cannot help, or when the provider asks for a longer wait than the run can afford;
 * `signal.reason` when aborted.
 */
export async function takeTurn(
  model: ChosenModel,
  request: ModelRequest,
  active: Pick<ActiveRun, "clock" | "remainingMs" | "segment" | "signal" | "providerIdleMs" | "random">,
  observer: AttemptObserver,
  { retries = RETRIES }: { retries?: number } = {},
): Promise<ModelTurn> {
  const { clock, segment, signal, random = randomFraction } = active;
  const preview = previewOf(observer);
  const { text, thought } = preview;
  const { cut, silent } = observer;
  const attemptOnce = () => attemptTurn(model, request, active, { text, thought, cut, silent });
  let wasHollow = false;
  for (let attempt = 0; ; attempt++) {
    const beganAt = monotonicMs();
    try {
      const turn = await (segment ? segment.attempt(model, request, attemptOnce) : attemptOnce());
      const { shownAt } = preview;
      const firstToken = shownAt === undefined ? {} : { firstTokenMs: shownAt - beganAt };
      observer.succeeded({ ms: monotonicMs() - beganAt, ...firstToken });
      // The caller of this function asks again with a shorter conversation, or ends the run.
      if (turn.stop === "context_window") preview.discard();
      // After an empty turn or an unreadable call, models usually succeed on a second request.
      if (!isHollow(turn) || wasHollow || attempt >= Math.max(1, retries)) return turn;
      wasHollow = true;
      preview.discard();
      observer.discarded(turn.usage);
      await observer.retry(turn.stop === "malformed" ? "malformed" : "empty", 0);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ModelError)) throw error;
      preview.discard();
      observer.failed(error);
      if (!error.retryable || attempt >= retries) throw error;
      // The wait that the provider asks for, or exponential back-off with full jitter, whichever is longer.
      const pauseMs = Math.round(Math.max(error.retryAfterMs ?? 0, random() * 500 * 2 ** attempt));
      if (pauseMs > Math.min(MAX_WAIT_MS, active.remainingMs() / 2)) throw error;
      await observer.retry(error.kind, pauseMs);
      await clock.sleep(pauseMs, { signal });
    }
  }
}

/** True for a turn without text and calls. */
export const isEmpty = ({ text, calls }: ModelTurn): boolean => text.trim() === "" && calls.length === 0;

const isHollow = (turn: ModelTurn): boolean => turn.stop === "malformed" || (turn.stop === "stop" && isEmpty(turn));

/** Notes when followers were first shown a part of the current attempt; `discard` withdraws that part. */
function previewOf(observer: AttemptObserver) {
  let shownAt: number | undefined;
  return {
    get shownAt() {
      return shownAt;
    },
    text(text: string): void {
      shownAt ??= monotonicMs();
      observer.text(text);
    },
    thought(text: string): void {
      shownAt ??= monotonicMs();
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
  observer: Pick<AttemptObserver, "text" | "thought" | "cut" | "silent">,
): Promise<ModelTurn> {
  const turn = new AbortController();
  // Without this limit a connection that died without a reset would block the run until its deadline.
  let silent: ModelError | undefined;
  const timer = setTimeout(() => {
    silent = new ModelError("truncated", `no data for ${providerIdleMs} ms`);
    turn.abort(silent);
  }, providerIdleMs);
  const quiet = setTimeout(observer.silent, SILENT_MS);
  const shown = { textDelta: wholePairs(observer.text), thoughtDelta: wholePairs(observer.thought) };
  try {
    signal.throwIfAborted();
    using _ = addAbortListener(signal, () => turn.abort(signal.reason));
    for await (const event of model.provider.stream(sendable(request), { signal: turn.signal })) {
      timer.refresh();
      if (event.type === "end") {
        for (const one of Object.values(shown)) one.end();
        return readable(event.turn);
      }
      if (event.type === "cut") observer.cut(event);
      else {
        const deltas = event.type === "deltas" ? event.deltas : [event];
        // Not for a ping, hidden reasoning or argument text: a person who waits for the answer sees none of them.
        if (deltas.length > 0) quiet.refresh();
        for (const { type, text } of deltas) shown[type].push(text);
      }
    }
    throw new ModelError("truncated", "the adapter ended without a turn");
  } catch (error) {
    // An aborted adapter may throw its own error: the silence is the cause.
    if (silent && !signal.aborted) throw silent;
    throw error;
  } finally {
    clearTimer(timer);
    clearTimer(quiet);
  }
}

/** The request as any provider accepts it: rows of earlier versions may have half of a surrogate pair. Function sets do not. */
const sendable = (request: ModelRequest): ModelRequest => ({
  ...request,
  system: wellFormed(request.system),
  messages: wellFormed(request.messages),
});

/** The turn as it is stored and sent back. */
function readable(turn: ModelTurn): ModelTurn {
  const calls = turn.calls.map((call) => ({ ...call, arguments: wellFormedJson(call.arguments) }));
  return wellFormed({ ...turn, calls });
}

/** Why an attempt failed: `short` for warnings, `reason` for the message to the caller. */
export const MODEL_FAILURES: Record<ModelErrorKind, { short: string; reason: string }> = {
  rate_limited: { short: "rate limit", reason: "it is limiting requests; try again later" },
  quota: { short: "quota used up", reason: "the account's quota or spending limit is used up" },
  overloaded: { short: "overloaded", reason: "it is overloaded; try again later" },
  authentication: { short: "key refused", reason: "it refused the configured API key" },
  unknown_model: { short: "unknown model", reason: "it does not offer this model to the configured account" },
  bad_request: { short: "request refused", reason: "it refused the request; the service's log has its reason" },
  context_window: { short: "conversation too long", reason: "the conversation is too long for the model" },
  too_many_functions: { short: "too many functions", reason: "the role has more functions than the model takes" },
  network: { short: "connection failed", reason: "the connection could not be made, or was lost in its answer" },
  out_of_files: { short: "no free file descriptor in the service", reason: `${OUT_OF_FILES} to ask it` },
  truncated: { short: "answer cut off", reason: "its answer was cut off" },
  unknown_end: { short: "unknown end", reason: "it ended its answer for an unknown reason; the service's log has it" },
  malformed: { short: "unreadable calls", reason: "it wrote function calls that cannot be read" },
  unreadable: { short: "no event stream", reason: "it did not answer with events; the service's log has what it sent" },
  internal: {
    short: "fault in the service",
    reason: "the service could not ask it or read its answer; its log has why",
  },
  server: { short: "server error", reason: "it had an internal error; try again later" },
};

/** Why a provider failed, for the API caller. */
export function reasonOf({ kind, message, retryAfterMs }: ModelError): string {
  if (kind === "too_many_functions") return message;
  const wait = retryAfterMs === undefined ? "" : ` (it asks for ${Math.ceil(retryAfterMs / 1000)} s)`;
  return `${MODEL_FAILURES[kind].reason}${wait}`;
}

const NO_FILES = "The service could not ask the model: it has reached its limit of open files. Try again in a moment.";

/**
 * Ends a run whose model failed. Logs only the adapter's message: the SDK's error has the provider's body, which may
 * quote a key or the query.
 */
export function providerFailure(model: ChosenModel, error: ModelError): RunFailure {
  if (error.kind === "out_of_files") return new RunFailure("internal", NO_FILES, { cause: error.message });
  const which = error.kind === "unknown_model" ? ` (${model.model})` : "";
  const text = `Provider ${model.provider.name} failed: ${reasonOf(error)}${which}`;
  return new RunFailure("provider_error", text, { cause: error.message });
}
