import type { JsonValue } from "@patchbay/kit";
import {
  type Message,
  type ModelEvent,
  type ModelFunction,
  type ModelRequest,
  type ModelTurn,
} from "@patchbay/engine/ports/model-provider";
import { offlineModel } from "../src/index.ts";

export type Handlers = Record<string, (input: Record<string, string>) => JsonValue | Error>;
export type Call = [name: string, input: JsonValue];

const MAX_TURNS = 20;

export async function takeTurn(
  functions: readonly ModelFunction[],
  messages: readonly Message[],
  more: Partial<ModelRequest> = {},
): Promise<{ turn: ModelTurn; events: ModelEvent[] }> {
  const request: ModelRequest = {
    model: "offline",
    threadId: "thr_1",
    cacheKey: "",
    system: "You are a desk.",
    functions,
    messages,
    maxTokens: 8192,
    toolChoice: "auto",
    ...more,
  };
  const events: ModelEvent[] = [];
  for await (const event of offlineModel.stream(request, { signal: new AbortController().signal })) events.push(event);
  const last = events.at(-1);
  if (last?.type !== "end") throw new Error("a turn must end with its end event");
  return { turn: last.turn, events };
}

/** Runs a query to its answer as the loop would; `handlers` play the owner's functions. */
export async function converse(
  functions: readonly ModelFunction[],
  query: string,
  { handlers = {}, before = [], preface }: { handlers?: Handlers; before?: Message[]; preface?: string } = {},
): Promise<{ calls: Call[][]; answer: string; messages: Message[] }> {
  const messages: Message[] = [...before, { role: "user", text: query, ...(preface !== undefined && { preface }) }];
  const calls: Call[][] = [];
  for (let step = 0; step < MAX_TURNS; step += 1) {
    const { turn } = await takeTurn(functions, messages);
    messages.push({ role: "assistant", text: turn.text, calls: turn.calls });
    if (turn.stop !== "calls") return { calls, answer: turn.text, messages };
    calls.push(turn.calls.map((call): Call => [call.name, JSON.parse(call.arguments) as JsonValue]));
    messages.push({
      role: "results",
      results: turn.calls.map((call) => {
        const value =
          handlers[call.name]?.(JSON.parse(call.arguments) as Record<string, string>) ?? new Error("not found");
        const isError = value instanceof Error;
        const content = isError ? value.message : typeof value === "string" ? value : JSON.stringify(value);
        return { callId: call.id, name: call.name, content, isError };
      }),
    });
  }
  throw new Error(`no answer within ${MAX_TURNS} turns`);
}
