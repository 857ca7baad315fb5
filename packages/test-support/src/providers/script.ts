import type { JsonObject, JsonValue } from "@patchbay/kit";

/** The wire formats that stand-ins speak. */
export const WIRES = ["anthropic", "openai-responses", "openai-chat", "gemini"] as const;
export type Wire = (typeof WIRES)[number];

export interface ScriptedCall {
  name: string;
  /** Text is sent as it is, JSON or not. Default: no arguments at all. */
  arguments?: JsonValue;
}

/** A turn of the stand-in, independent of the wire. Without `calls` and `stop` it is an ordinary answer. */
export interface ScriptedTurn {
  thoughts?: string[];
  text?: string;
  calls?: ScriptedCall[];
  /** `length` with calls cuts the last call's arguments in the middle. */
  stop?: "stop" | "length" | "refused" | "malformed" | "context_window" | "pause";
  usage?: { input?: number; cachedInput?: number; cacheWriteInput?: number; output?: number; reasoning?: number };
  /** Answers with this HTTP status instead. `code` is the provider's own error code, if it matters. */
  error?: ScriptedError;
  /** Ends the stream with the wire's error event, after text and calls, before the terminal event. */
  midStreamError?: { code?: string; message?: string };
  /** Destroys the connection after this number of bytes; with `cutCleanly` the body ends there regularly. */
  cutAfterBytes?: number;
  cutCleanly?: boolean;
  /** Sends this number of bytes and then nothing, until the client disconnects. */
  stallAfterBytes?: number;
  /** Writes the body in pieces of this size. */
  splitBytes?: number;
  /** Spreads the body over this time, in pieces of equal size. */
  spreadMs?: number;
  /** Waits before the first byte. A script may also return a promise. */
  delayMs?: number;
}

export interface ScriptedError {
  status: number;
  code?: string;
  message?: string;
  headers?: Record<string, string>;
  /** Gemini's `details`. */
  details?: JsonValue[];
}

export interface SummaryResult {
  callId: string;
  name: string;
  content: string;
}

export interface SummaryMessage {
  role: "user" | "assistant" | "results";
  text: string;
  calls: { id: string; name: string; arguments: JsonValue }[];
  results: SummaryResult[];
}

/** A request to the stand-in, independent of the wire, except that function names are those on the wire. */
export interface RequestSummary {
  model: string;
  system: string;
  functions: string[];
  messages: SummaryMessage[];
  /** Text of the last message that the user wrote. */
  query: string;
  /** Results since the model's last turn. */
  results: SummaryResult[];
  /** Model turns since the user's last message: 0 for the first turn of a run. */
  step: number;
  toolChoice: "auto" | "none";
  maxTokens: number;
  temperature?: number;
}

/** Answers a request. `turn` counts the requests to this stand-in from 1. */
export type Script = (request: RequestSummary, turn: number) => ScriptedTurn | Promise<ScriptedTurn>;

/** A script that returns the turns in order and repeats the last one. */
export function scriptFor(...turns: [ScriptedTurn, ...ScriptedTurn[]]): Script {
  return (_request, turn) => turns[Math.min(turn, turns.length) - 1] ?? turns[0];
}

/** A script that makes the calls first and answers after their results. Works for many runs at the same time. */
export function callThenAnswer(
  calls: ScriptedCall[],
  answer: (results: SummaryResult[]) => string = (results) => results.map(({ content }) => content).join("\n"),
): Script {
  return ({ step, results }) => (step === 0 ? { calls } : { text: answer(results) });
}

export interface RecordedRequest {
  headers: Record<string, string | string[] | undefined>;
  body: JsonObject;
  summary: RequestSummary;
  /** The text of a rejection; undefined if the script answered. */
  refusal?: string;
  /** Size of the complete answer of the script, cut or not. */
  answerBytes: number;
  /** Resolves when the connection of this request ends. */
  closed: Promise<void>;
}
