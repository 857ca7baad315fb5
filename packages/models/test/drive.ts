import type {
  Message,
  ModelEvent,
  ModelFunction,
  ModelProvider,
  ModelRequest,
  ModelTurn,
} from "@patchbay/engine/ports/model-provider";
import { createModelCatalog } from "../src/catalog.ts";
import type { ScriptedError, StandIn, Wire } from "@patchbay/test-support/providers";

export const ORDER_LOOKUP: ModelFunction = {
  name: "orders.find",
  description: "Finds an order.",
  effect: "read",
  inputSchema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { id: { type: "string" }, limit: { type: "integer" } },
    required: ["id"],
  },
};
export const PING: ModelFunction = {
  name: "ping",
  description: "Says whether the shop is open.",
  effect: "read",
  inputSchema: { type: "object", properties: {} },
};
export const FUNCTIONS: readonly ModelFunction[] = [ORDER_LOOKUP, PING];

export function providerOf(standIn: StandIn): ModelProvider {
  const chosen = createModelCatalog(standIn.config).choose();
  if ("missing" in chosen) throw new Error(`no provider: ${chosen.missing}`);
  return chosen.provider;
}

export function asking(model: string, change: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model,
    system: "You are the desk of a shop.",
    functions: FUNCTIONS,
    messages: [{ role: "user", text: "Where is order 7?", preface: "The user's role is customer." }],
    maxTokens: 8192,
    toolChoice: "auto",
    threadId: "thread-1",
    cacheKey: "key-1",
    ...change,
  };
}

export async function eventsOf(
  provider: ModelProvider,
  request: ModelRequest,
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of streamed(provider, request, signal)) events.push(event);
  return events;
}

/** The events of a turn, with each delta as an event of its own. */
export async function* streamed(
  provider: ModelProvider,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  for await (const event of provider.stream(request, { signal })) {
    if (event.type === "deltas") yield* event.deltas;
    else yield event;
  }
}

export async function turnOf(provider: ModelProvider, request: ModelRequest): Promise<ModelTurn> {
  const last = (await eventsOf(provider, request)).at(-1);
  if (last?.type !== "end") throw new Error("the turn has no end");
  return last.turn;
}

/** A turn and the results of its calls, as the loop adds them to the conversation. */
export function continued(turn: ModelTurn, result: { content: string; isError: boolean }): Message[] {
  const { text, calls, echo } = turn;
  return [
    { role: "assistant", text, calls, ...(echo ? { echo } : {}) },
    { role: "results", results: calls.map(({ id, name }) => ({ callId: id, name, ...result })) },
  ];
}

/** The parts of a turn that do not depend on its delivery: not the ids, which are new each time. */
export function essence({ text, thoughts, calls, stop, usage }: ModelTurn) {
  return { text, thoughts, calls: calls.map(({ name, arguments: args }) => [name, args]), stop, usage };
}

/** Differences between the wires. */
export interface WireTraits {
  wire: Wire;
  model: string;
  takesTemperature: string;
  takesNoTemperature: string;
  /** False for Gemini, whose calls arrive complete or not at all. */
  seesCutCalls: boolean;
  quota: ScriptedError;
  tooLong: ScriptedError;
  retryAfter: ScriptedError;
}
