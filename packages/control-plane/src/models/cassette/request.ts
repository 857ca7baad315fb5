import { createHash } from "node:crypto";
import { canonicalJson, isJsonObject, type JsonObject } from "@patchbay/protocol";
import type { Message, ModelCall, ModelFunction, ModelRequest, ModelTurn } from "../../ports/model-provider.ts";
import { createSteadier, type Steadier } from "./steady.ts";

/** A call as a cassette keeps it: arguments that are no JSON object stay the text they were. */
export interface RecordedCall {
  id: string;
  name: string;
  arguments: JsonObject | string;
}

export type RecordedMessage =
  | { role: "user"; text: string; preface?: string }
  | { role: "assistant"; text: string; calls: RecordedCall[] }
  | { role: "results"; results: { callId: string; name: string; content: string; isError: boolean }[] };

export interface RecordedSettings {
  maxTokens: number;
  temperature?: number;
  toolChoice: ModelRequest["toolChoice"];
}

/** What of a request decides its answer. The model's name is not among it: who replays is not who recorded. */
export interface RecordedRequest {
  /** Line by line. */
  system: string[];
  /** A short hash of each function's description, schema and effect, by its name. */
  functions: Record<string, string>;
  messages: RecordedMessage[];
  settings: RecordedSettings;
}

/** The parts of a finished turn that a replay gives again. */
export type RecordedAnswer = Pick<ModelTurn, "text" | "thoughts" | "stop" | "usage" | "model"> &
  Partial<Pick<ModelTurn, "cutCall" | "warnings">> & { calls: RecordedCall[] };

/** A request without what changes from run to run: ids, references to log lines, secrets. */
export function recordedRequest(request: ModelRequest): RecordedRequest {
  const steady = createSteadier(request.functions);
  const { maxTokens, temperature, toolChoice } = request;
  return {
    system: steady.text(request.system).split("\n"),
    functions: Object.fromEntries(request.functions.map((one) => [one.name, hashOfFunction(one)])),
    messages: request.messages.map((message) => recordedMessage(message, steady)),
    settings: { maxTokens, toolChoice, ...(temperature !== undefined && { temperature }) },
  };
}

/** The answer to `request`; its calls are numbered on from those of the conversation. */
export function recordedAnswer(request: ModelRequest, turn: ModelTurn): RecordedAnswer {
  const steady = createSteadier(request.functions);
  for (const message of request.messages) recordedMessage(message, steady);
  const { text, thoughts, stop, usage, model, cutCall, warnings } = turn;
  return {
    text: steady.text(text),
    thoughts: thoughts.map((thought) => steady.text(thought)),
    calls: turn.calls.map((call) => recordedCall(call, steady)),
    stop,
    usage,
    model,
    ...(cutCall !== undefined && { cutCall }),
    ...(warnings !== undefined && { warnings }),
  };
}

/** The same for the same request, on every machine and in every run. */
export function keyOf(request: RecordedRequest): string {
  return hash(request, 32);
}

function recordedMessage(message: Message, steady: Steadier): RecordedMessage {
  switch (message.role) {
    case "user": {
      const { text, preface } = message;
      return {
        role: "user",
        text: steady.text(text),
        ...(preface !== undefined && { preface: steady.text(preface) }),
      };
    }
    case "assistant":
      return {
        role: "assistant",
        text: steady.text(message.text),
        calls: message.calls.map((call) => recordedCall(call, steady)),
      };
    case "results":
      return {
        role: "results",
        results: message.results.map(({ callId, name, content, isError }) => ({
          callId: steady.callId(callId),
          name,
          content: isError ? steady.text(content) : steady.result(name, content),
          isError,
        })),
      };
  }
}

function recordedCall({ id, name, arguments: text }: ModelCall, steady: Steadier): RecordedCall {
  const written = steady.text(text);
  return { id: steady.newCallId(id), name, arguments: objectIn(written) ?? written };
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const functionHashes = new WeakMap<ModelFunction, string>();

function hashOfFunction(one: ModelFunction): string {
  let known = functionHashes.get(one);
  if (known === undefined) {
    const { description, inputSchema, effect } = one;
    functionHashes.set(one, (known = hash({ description, inputSchema, effect }, 12)));
  }
  return known;
}

function hash(value: unknown, length: number): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex").slice(0, length);
}
