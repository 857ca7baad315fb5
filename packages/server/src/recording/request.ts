import { createHash } from "node:crypto";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  oncePer,
  present,
  readArguments,
} from "@patchbay/kit";
import {
  type Message,
  type ModelCall,
  type ModelFunction,
  type ModelRequest,
  type ModelResult,
  type ModelTurn,
  RESTRICTED_FIELDS,
} from "@patchbay/engine/ports/model-provider";

/** A recorded call: arguments that are not a JSON object stay text. */
export interface RecordedCall {
  id: string;
  name: string;
  arguments: JsonObject | string;
}

export type RecordedMessage =
  | { role: "user"; text: string; preface?: string }
  | { role: "assistant"; text: string; calls: RecordedCall[] }
  | { role: "results"; results: ModelResult[] };

export type RecordedSettings = Pick<ModelRequest, "maxTokens" | "temperature" | "reasoning" | "toolChoice">;

/** The request parts that decide its answer. The model's name is not included: a replay can use another model. */
export interface RecordedRequest {
  /** Line by line. */
  system: string[];
  /** A short hash of each function's description, schema and effect, by its name. */
  functions: Record<string, string>;
  messages: RecordedMessage[];
  settings: RecordedSettings;
}

/** The parts of a finished turn that a replay returns. */
export type RecordedAnswer = Pick<ModelTurn, "text" | "thoughts" | "stop" | "usage" | "model"> &
  Partial<Pick<ModelTurn, "cutCall" | "warnings">> & { calls: RecordedCall[] };

/** A request without what changes from run to run: ids, references to log lines, secrets. */
export function recordedRequest(request: ModelRequest): RecordedRequest {
  const steady = createSteadier(request.functions);
  const { maxTokens, temperature, reasoning, toolChoice } = request;
  return {
    system: steady.text(request.system).split("\n"),
    functions: Object.fromEntries(request.functions.map((fn) => [fn.name, hashOfFunction(fn)])),
    messages: request.messages.map((message) => recordedMessage(message, steady)),
    settings: { maxTokens, toolChoice, ...present({ temperature, reasoning }) },
  };
}

/** The answer to `request`; its call numbers continue those in the conversation. */
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
    ...present({ cutCall, warnings }),
  };
}

/** Equal for equal requests, on every machine and in every run. */
export function keyOf(request: RecordedRequest): string {
  return hash(request, 32);
}

function recordedMessage(message: Message, steady: Steadier): RecordedMessage {
  switch (message.role) {
    case "user": {
      const { text, preface } = message;
      return { role: "user", text: steady.text(text), ...(preface !== undefined && { preface: steady.text(preface) }) };
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
  const read = readArguments(written);
  const isObject = written !== "" && read.ok && isJsonObject(read.value);
  return { id: steady.newCallId(id), name, arguments: isObject ? (read.value as JsonObject) : written };
}

const hashOfFunction = oncePer(({ description, inputSchema, effect, examples }: ModelFunction) =>
  hash({ description, inputSchema, effect, ...(examples && { examples }) }, 12),
);

function hash(value: unknown, length: number): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex").slice(0, length);
}

const WITHHELD = "[protected]";
/** Shorter texts and numbers are not specific, and occur in many places by chance. */
const SHORTEST = 4;

/** Removes restricted fields from results, and their values wherever the conversation repeats them. */
function createWithholder(functions: readonly ModelFunction[]) {
  const members = new Map(functions.map((fn) => [fn.name, new Set(fn[RESTRICTED_FIELDS])]));
  const values = new Set<string>();

  function withhold(value: JsonValue): string {
    const visit = (part: JsonValue): void => {
      if (typeof part === "object" && part !== null) Object.values(part).forEach(visit);
      else if (String(part).length >= SHORTEST && typeof part !== "boolean") values.add(String(part));
    };
    visit(value);
    return WITHHELD;
  }

  return {
    /** A function's result as recorded. A result that was cut, and so is not JSON, is omitted. */
    result(name: string, content: string): string {
      const names = members.get(name);
      if (!names?.size) return content;
      if (names.has("$")) return withhold(content);
      if (!/^[[{]/.test(content)) return content;
      try {
        const kept = (member: string, value: JsonValue) => (names.has(member) ? withhold(value) : value);
        return JSON.stringify(JSON.parse(content, kept));
      } catch {
        return WITHHELD;
      }
    },
    text(text: string): string {
      let kept = text;
      for (const value of values) kept = kept.replaceAll(value, WITHHELD);
      return kept;
    },
  };
}

/** Ids that Patchbay makes. */
const OWN_IDS = /\b(run|thr|call)_[0-9a-f]{32}\b/g;

/** The reference to the owner's log in a failed call's message. */
const REFERENCES = /\bReference: [0-9a-f]{12}\b/g;

/** Patchbay's own secrets, those of the providers, and whatever follows the word Bearer. */
const SECRETS =
  /\b(?:service_live_|patchbay_(?:rt|at)_)[0-9A-Za-z]{36}\b|\bsk-[0-9A-Za-z_-]{16,}|\bAIza[0-9A-Za-z_-]{35}|\bBearer [0-9A-Za-z._~+/=-]{16,}/g;

type Steadier = ReturnType<typeof createSteadier>;

/** Replaces values that change from run to run with stable words; equal values get the same word in one request. */
function createSteadier(functions: readonly ModelFunction[]) {
  const withholder = createWithholder(functions);
  const words = new Map<string, string>();
  const counts = new Map<string, number>();
  const callWords = new Map<string, string>();

  function next(kind: string): string {
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    return `${kind}_${count}`;
  }

  function wordFor(id: string, kind: string): string {
    let word = words.get(id);
    if (word === undefined) words.set(id, (word = next(kind)));
    return word;
  }

  const text = (said: string): string =>
    withholder
      .text(said)
      .replaceAll(SECRETS, "[secret]")
      .replaceAll(REFERENCES, "Reference: [reference]")
      .replaceAll(OWN_IDS, (id, kind: string) => wordFor(id, kind));

  return {
    text,
    /** The function's result without restricted fields; later texts omit their values too. */
    result: (name: string, content: string) => text(withholder.result(name, content)),
    /** The word for a new model call. Models may reuse an id in a later turn: each use is a separate call. */
    newCallId(id: string): string {
      const word = next("turn_call");
      callWords.set(id, word);
      return word;
    },
    /** The word for the newest call with this id. */
    callId: (id: string) => callWords.get(id) ?? "turn_call_unknown",
  };
}
