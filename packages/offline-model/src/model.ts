import type { Effect, JsonObject } from "@patchbay/protocol";

// The parts of the control plane's model port that the offline model reads and writes. The control plane assigns its own types to
// these, so that this package depends on the protocol only.

/** A function that the model can call. */
export interface ModelFunction {
  name: string;
  description: string;
  inputSchema: JsonObject;
  effect: Effect;
}

/** A call of a function: `arguments` is JSON text. */
export interface ModelCall {
  id: string;
  name: string;
  arguments: string;
}

/** The result of a call as the model reads it. */
export interface ModelResult {
  callId: string;
  name: string;
  content: string;
  isError: boolean;
}

/** One entry of a conversation. `preface` is data next to the query, such as its role and context. */
export type Message =
  | { role: "user"; text: string; preface?: string }
  | { role: "assistant"; text: string; calls: ModelCall[] }
  | { role: "results"; results: ModelResult[] };

/** What a turn depends on. */
export interface ModelRequest {
  system: string;
  functions: readonly ModelFunction[];
  messages: readonly Message[];
  maxTokens: number;
  temperature?: number;
  /** The last of `functions`, whose call is the answer; absent if the answer is a text. */
  respond?: ModelFunction;
  toolChoice: "auto" | "none" | "respond";
  /** Queries that the service's author gave as examples for the caller's role. */
  exampleQueries?: readonly string[];
}

/** One complete turn. */
export interface ModelTurn {
  text: string;
  thoughts: string[];
  calls: ModelCall[];
  stop: "stop" | "calls" | "length";
  /** Estimated: a token for every four characters. */
  usage: { input: number; cachedInput: number; output: number };
  model: string;
  warnings?: string[];
}

/** What a turn yields: deltas, then the turn. */
export type ModelEvent =
  | { type: "textDelta"; text: string }
  | { type: "thoughtDelta"; text: string }
  | { type: "end"; turn: ModelTurn };

/** The texts of the loop's own user messages around a plan, which are not queries. */
export interface PlanTexts {
  /** Asks for a plan before any call. */
  request: string;
  /** Asks to carry out the plan. */
  goAhead: string;
}
