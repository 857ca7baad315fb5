import type { Span } from "@patchbay/protocol/console";
import type { CallRecord, EarlierAttempt, ModelRetry, TurnTiming } from "../ports/records.ts";
import { type Ending, spanOf, within } from "./spans.ts";

/** One attempt of a turn or call, in milliseconds of the database's clock. It begins where the one before it ended. */
interface Attempt {
  number: number;
  /** Undefined: with what it belongs to. */
  endedAt?: number;
  /** When its pause was over, or it was sent. */
  waitedUntil?: number | undefined;
  ending: Ending;
  attributes?: Span["attributes"];
}

/** The attempts of a call that was given to several runtimes; none of one that was given to one. */
export function callAttempts(acceptedAt: number, call: Span, { earlier = [], ...last }: CallRecord): Span[] {
  if (earlier.length === 0) return [];
  const attempts = earlier.map((one): Attempt => ({
    number: one.attempt,
    endedAt: one.endedAt,
    waitedUntil: one.sentAt,
    ending: whyRepeated(one),
    attributes: { runtime: one.instanceId },
  }));
  const { attempt, instanceId, sentAt } = last;
  const attributes = instanceId === undefined ? {} : { runtime: instanceId };
  return spansOf(acceptedAt, call, [
    ...attempts,
    { number: attempt, waitedUntil: sentAt, ending: endingOf(call), attributes },
  ]);
}

function whyRepeated({ ended }: EarlierAttempt): Ending {
  if (ended === "unknown")
    return {
      state: "unknown",
      code: "outcome_unknown",
      errorMessage: "The connection was lost before an answer came. The function is idempotent: it was called again.",
    };
  const errorMessage = "The runtime had surely not begun it: the call was given to a runtime again.";
  return { state: "failed", code: "undelivered", errorMessage };
}

/** The attempts of a turn that the model was asked for more than once; none of one that came at once. */
export function turnAttempts(acceptedAt: number, turn: Span, timing: TurnTiming | undefined): Span[] {
  const retries = timing?.retries ?? [];
  if (retries.length === 0) return [];
  const pauseOver = (before: ModelRetry | undefined) => before && before.at + before.waitedMs;
  const failed = retries.map((retry, i): Attempt => ({
    number: i + 1,
    endedAt: retry.at,
    waitedUntil: pauseOver(retries[i - 1]),
    ending: { state: "failed", code: retry.code, errorMessage: WHY_ASKED_AGAIN[retry.code] },
    attributes: modelOf(retry),
  }));
  const last = {
    number: retries.length + 1,
    waitedUntil: pauseOver(retries.at(-1)),
    ending: endingOf(turn),
    attributes: modelOf(turn.attributes),
  };
  return spansOf(acceptedAt, turn, [...failed, last]);
}

/** A run may have gone on to another model between two attempts. */
const modelOf = ({ provider, model }: Span["attributes"] | ModelRetry): Span["attributes"] =>
  provider === undefined || model === undefined ? {} : { provider, model };

const WHY_ASKED_AGAIN: Record<ModelRetry["code"], string> = {
  rate_limited: "The provider is limiting requests.",
  quota: "The account's quota or spending limit at the provider is used up.",
  overloaded: "The provider is overloaded.",
  authentication: "The provider refused the configured API key.",
  unknown_model: "The provider does not offer this model.",
  bad_request: "The provider refused the request.",
  context_window: "The conversation was too long for the model: it was asked again with less of it.",
  network: "The connection to the provider was lost.",
  truncated: "The answer was cut off.",
  server: "The provider had an internal error.",
  empty: "The model answered with neither text nor calls.",
  malformed: "The model's call could not be read.",
};

const endingOf = ({ state, rule, why, code, errorMessage }: Span): Ending => ({ state, rule, why, code, errorMessage });

function spansOf(acceptedAt: number, parent: Span, attempts: readonly Attempt[]): Span[] {
  const whole = {
    from: acceptedAt + parent.startMs,
    to: parent.endMs === null ? undefined : acceptedAt + parent.endMs,
  };
  let { from } = whole;
  return attempts.map(({ number, endedAt, ...attempt }) => {
    const to = endedAt === undefined ? whole.to : within(endedAt, { from, to: whole.to });
    const span = spanOf(acceptedAt, {
      ...attempt,
      id: `${parent.id}:attempt:${number}`,
      parentId: parent.id,
      kind: "attempt",
      name: `attempt ${number}`,
      from,
      to,
    });
    if (to !== undefined) from = to;
    return span;
  });
}
