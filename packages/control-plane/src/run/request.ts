import { hash } from "node:crypto";
import { LIMITS } from "@patchbay/protocol";
import { PLAN_REQUEST, type Message, type ModelRequest } from "../ports/model-provider.ts";
import type { RunRequest } from "../ports/records.ts";
import { budgetOf, fit, type Budget, type Fitted } from "./compact.ts";
import { BYTES_PER_TOKEN, sizeOf } from "./estimate.ts";
import { queryMessage, turnMessages, type RunState } from "./state.ts";
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
  return { planning: analysisMode && state.turns.length === 0, lastChance: stepsTaken >= stepsOf(state.run.request) };
}

/** Turns with function calls before a run's model must answer. */
export const stepsOf = ({ steps = LIMITS.steps }: RunRequest): number => steps;

/** What a run's model is sent next. */
export function nextRequest(state: RunState, asking: Asking): ModelRequest {
  const { run, model, history, shown, respond } = state;
  const { request, threadId } = run;
  const turns = state.turns.map((turn) => turnMessages(state, turn));
  const { dropped } = fitted(state, turns);
  const earlier = history.entries.slice(dropped).flatMap((entry) => entry.messages);
  const ofRun = turns
    .map((messages, at) => (at < state.echoesFrom ? messages.map(withoutEcho) : messages))
    .slice(Math.max(0, dropped - history.entries.length));
  const messages = [...earlier, queryMessage(state, omits(state)), ...ofRun.flat()];
  if (asking.planning) messages.push({ role: "user", text: PLAN_REQUEST });
  else if (asking.lastChance && respond) messages.push({ role: "user", text: lastCallOf(respond.name) });
  return {
    model: model.model,
    system: request.system,
    functions: shown,
    messages,
    earlierMessages: earlier.length,
    maxTokens: request.maxTokens,
    ...(respond && { respond }),
    toolChoice: toolChoiceOf(state, asking),
    threadId,
    cacheKey: cacheKey([run.agentId, run.manifestHash, run.role, model.model, request.responseSchema]),
    ...(request.temperature !== undefined && { temperature: request.temperature }),
  };
}

function toolChoiceOf({ respond, shown }: RunState, { planning, lastChance }: Asking): ModelRequest["toolChoice"] {
  if (planning) return "none";
  if (respond) return lastChance || shown.length === 1 ? "respond" : "auto";
  return lastChance ? "none" : "auto";
}

/** OpenAI takes 64 characters at most. */
const cacheKey = (prefix: readonly unknown[]): string =>
  hash("sha256", JSON.stringify(prefix), "base64url").slice(0, 22);

/** What of the conversation fits, noted in the state. A warning says where something is left out. */
function fitted(state: RunState, turns: readonly Message[][]): Fitted {
  const budget = budgetNow(state);
  const result = fitInto(state, turns, budget);
  if (result.dropped !== state.dropped) {
    // Opaque blocks hold only while everything before them is unchanged.
    state.echoesFrom = turns.length;
    state.dropped = result.dropped;
  }
  warn(state, budget);
  return result;
}

function budgetNow({ run, shown, model, mostTokens }: RunState): Budget {
  const { historyTokens, conversationTokens } = budgetOf(run.request, shown, model);
  return { historyTokens, conversationTokens: Math.min(conversationTokens, mostTokens) };
}

function fitInto(state: RunState, turns: readonly Message[][], budget: Budget): Fitted {
  const query = sizeOf([queryMessage(state, false)]);
  return fit({ history: state.history, query, turns: turns.map(sizeOf) }, budget);
}

const omits = ({ dropped, history }: RunState): boolean => dropped > 0 || history.hasOlder;

function withoutEcho(message: Message): Message {
  if (message.role !== "assistant" || !message.echo) return message;
  const { echo: _, ...rest } = message;
  return rest;
}

const WARNING = "Earlier turns";

/** A run has one such warning at most: the newest. */
function warn(state: RunState, { historyTokens, conversationTokens }: Budget): void {
  const { warnings, history, dropped } = state;
  for (const warning of warnings) if (warning.startsWith(WARNING)) warnings.delete(warning);
  if (!omits(state)) return;
  const shown = Math.max(0, history.entries.length - dropped);
  warnings.add(
    `${WARNING} of the thread were left out. The model was sent the newest ${shown} earlier queries: the limits are ` +
      `${inWords(historyTokens)} tokens of earlier queries and ${inWords(conversationTokens)} tokens of conversation.`,
  );
}

const inWords = (tokens: number): string => Math.floor(tokens).toLocaleString("en-US");

/** Leaves out half of what a model found too long; false when there is nothing left to leave out. */
export function shrink(state: RunState): boolean {
  const turns = state.turns.map((turn) => turnMessages(state, turn));
  const budget = budgetNow(state);
  const { dropped, bytes } = fitInto(state, turns, budget);
  const conversationTokens = (bytes - 1) / BYTES_PER_TOKEN;
  if (fitInto(state, turns, { ...budget, conversationTokens }).dropped <= dropped) return false;
  state.mostTokens = conversationTokens;
  return true;
}
