import { LIMITS } from "@patchbay/protocol";
import { PLAN_REQUEST, type Message, type ModelRequest } from "../ports/model-provider.ts";
import { fit, sizeOf, withoutEcho } from "./compact.ts";
import { ownMessages, type RunState } from "./state.ts";
import { lastCallOf } from "./structured.ts";

/** How a run's next turn is asked for. */
export interface Asking {
  /** The first turn of a run that plans first. */
  planning: boolean;
  /** No further step may follow: the model must answer. */
  lastChance: boolean;
}

export function askingOf(state: RunState): Asking {
  const { analysisMode } = state.run.request;
  // Turns that called or paused; a model that only ever pauses must end too.
  const stepsTaken = state.turns.length - (analysisMode ? 1 : 0);
  return { planning: analysisMode && state.turns.length === 0, lastChance: stepsTaken >= stepsOf(state) };
}

/** Turns with function calls before a run's model must answer. */
export const stepsOf = ({ run }: RunState): number => run.request.steps ?? LIMITS.steps;

/** What a run's model is sent next. */
export function nextRequest(state: RunState, { planning, lastChance }: Asking): ModelRequest {
  const messages = conversation(state);
  const { respond } = state;
  if (planning) messages.push({ role: "user", text: PLAN_REQUEST });
  else if (lastChance && respond) messages.push({ role: "user", text: lastCallOf(respond.name) });
  if (planning) return requestOf(state, messages, "none");
  if (respond) return requestOf(state, messages, lastChance || state.shown.length === 1 ? "respond" : "auto");
  return requestOf(state, messages, lastChance ? "none" : "auto");
}

/** The conversation so far, without echoes once anything before them was left out. */
function conversation(state: RunState): Message[] {
  const before = state.dropped;
  const own = ownMessages(state);
  const { messages, dropped } = fit(state.history, own, state.budget);
  if (dropped === before) return dropped === 0 ? messages : withoutEcho(messages);
  state.dropped = dropped;
  return withoutEcho(fit(state.history, ownMessages(state), state.budget).messages);
}

/** Halves what the model is given; false when there is nothing left to leave out. */
export function shrink(state: RunState, messages: readonly Message[]): boolean {
  const size = sizeOf(messages);
  const smaller = fit(state.history, ownMessages(state), Math.floor(size / 2));
  if (smaller.dropped <= state.dropped) return false;
  state.budget = Math.floor(size / 2);
  return true;
}

function requestOf(state: RunState, messages: Message[], toolChoice: ModelRequest["toolChoice"]): ModelRequest {
  const { request, threadId } = state.run;
  return {
    model: request.model,
    system: request.system,
    functions: state.shown,
    messages,
    maxTokens: request.maxTokens,
    ...(state.respond && { respond: state.respond }),
    toolChoice,
    cacheKey: threadId,
    ...(request.temperature !== undefined && { temperature: request.temperature }),
  };
}
