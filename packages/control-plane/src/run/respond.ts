import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import {
  ModelError,
  PLAN_REQUEST,
  type Message,
  type ModelErrorKind,
  type ModelRequest,
  type ModelTurn,
} from "../ports/model-provider.ts";
import type { RunStore } from "../ports/run-store.ts";
import { fit, sizeOf, withoutEcho } from "./compact.ts";
import type { Journal } from "./journal.ts";
import { providerFailure, takeTurn } from "./model-turn.ts";
import { patiently } from "./patience.ts";
import { insufficientCredits } from "./run-failure.ts";
import { ownMessages, type RunState } from "./state.ts";

export interface RespondDeps {
  runs: RunStore;
  journal: Journal;
  clock: Clock;
  log: Log;
  /** Called before the model is asked. */
  onAsking(): void;
  onAttempt(outcome: "succeeded" | ModelErrorKind): void;
}

/** The next turn of a run's model, on as much of the conversation as fits, paid for in advance. Stores nothing but the hold. */
export async function respond(
  state: RunState,
  toolChoice: "auto" | "none",
  planning: boolean,
  deps: RespondDeps,
  signal: AbortSignal,
): Promise<ModelTurn> {
  for (;;) {
    const request = nextRequest(state, toolChoice, planning);
    const { messages } = request;
    await patiently(() => hold(state, request, deps), { ...deps, signal });
    try {
      const { clock, log, journal, onAttempt } = deps;
      const onText = (content: string): void =>
        journal.live({ type: planning ? "thoughtDelta" : "responseDelta", content });
      const onThought = (content: string): void => journal.live({ type: "thoughtDelta", content });
      deps.onAsking();
      const turn = await takeTurn(state.model, request, { clock, log, onAttempt, onText, onThought }, signal);
      if (turn.stop !== "context_window" || !shrink(state, messages)) return turn;
    } catch (error) {
      if (!(error instanceof ModelError) || !shrink(state, messages)) throw asFailure(state, error);
    }
  }
}

/** What a run's model is sent next. */
export function nextRequest(state: RunState, toolChoice: "auto" | "none", planning: boolean): ModelRequest {
  const messages = conversation(state);
  if (planning) messages.push({ role: "user", text: PLAN_REQUEST });
  return requestOf(state, messages, toolChoice);
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
function shrink(state: RunState, messages: readonly Message[]): boolean {
  const size = sizeOf(messages);
  const smaller = fit(state.history, ownMessages(state), Math.floor(size / 2));
  if (smaller.dropped <= state.dropped) return false;
  state.budget = Math.floor(size / 2);
  return true;
}

function asFailure(state: RunState, error: unknown): unknown {
  return error instanceof ModelError ? providerFailure(state.model, error) : error;
}

function requestOf(state: RunState, messages: Message[], toolChoice: "auto" | "none"): ModelRequest {
  const { request, threadId } = state.run;
  return {
    model: request.model,
    system: request.system,
    functions: state.shown,
    messages,
    maxTokens: request.maxTokens,
    toolChoice,
    cacheKey: threadId,
    ...(request.temperature !== undefined && { temperature: request.temperature }),
  };
}

/** Takes the most the turn can cost from the organisation's balance; the rest goes back when the turn is stored. */
async function hold(state: RunState, request: ModelRequest, { runs }: RespondDeps): Promise<void> {
  state.heldMicros = 0;
  const { run, model } = state;
  if (!run.request.charged) return;
  const most = { input: promptTokens(request), cachedInput: 0, output: request.maxTokens };
  const micros = model.cost(most) ?? model.assumedCost(most);
  if (micros === 0) return;
  if (!(await runs.hold(run.orgId, run.runId, state.turns.length, micros))) throw insufficientCredits();
  state.heldMicros = micros;
}

/** An upper estimate: text has seldom less than three characters to a token. */
function promptTokens(request: ModelRequest): number {
  const schemas = request.functions.reduce(
    (sum, one) => sum + one.description.length + sizeOfSchema(one.inputSchema),
    0,
  );
  return Math.ceil((request.system.length + sizeOf(request.messages) + schemas) / 3);
}

const schemaSizes = new WeakMap<object, number>();

function sizeOfSchema(schema: object): number {
  let size = schemaSizes.get(schema);
  if (size === undefined) schemaSizes.set(schema, (size = JSON.stringify(schema).length));
  return size;
}
