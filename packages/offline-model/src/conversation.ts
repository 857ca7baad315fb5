import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { type Message, type ModelResult, PLAN_GO_AHEAD, PLAN_REQUEST } from "@patchbay/engine/ports/model-provider";

/** A call in this run with its result. */
export interface MadeCall {
  key: string;
  name: string;
  arguments: JsonObject;
  result: ModelResult;
  /** The result's value, or its text if that is not JSON. Undefined after a failed call, and for JSON that was cut. */
  data: JsonValue | undefined;
}

/** What a turn reads from the messages. */
export interface Conversation {
  query: string;
  context: JsonObject[];
  /** The last two, newest first. */
  earlierQueries: string[];
  /** Arguments of earlier calls in the thread, newest first. */
  earlierArguments: JsonObject[];
  /** True if the answer before the query called nothing: it may have asked for something. */
  wasAsked: boolean;
  made: MadeCall[];
}

/** Finds the query to act on, the messages before it, and the calls since. */
export function readConversation(messages: readonly Message[]): Conversation {
  const queries = messages.flatMap((message, at) =>
    message.role === "user" && isQuery(messages, at) ? [{ at, ...message }] : [],
  );
  const { at, text, preface = "" } = queries.pop() ?? { at: 0, text: "" };
  const before = messages.slice(0, at);
  const last = before.at(-1);
  return {
    query: text.trim(),
    context: objectsIn(preface),
    earlierQueries: queries
      .slice(-2)
      .map((query) => query.text)
      .reverse(),
    earlierArguments: before
      .flatMap((earlier) => (earlier.role === "assistant" ? earlier.calls : []))
      .slice(-50)
      .map((call) => parseObject(call.arguments))
      .reverse(),
    wasAsked: last?.role === "assistant" && last.calls.length === 0 && before.at(-2)?.role === "user",
    made: madeCalls(messages.slice(at)),
  };
}

/** False for the loop's own messages: the request for a plan, the text to carry it out, and remarks after results. */
function isQuery(messages: readonly Message[], at: number): boolean {
  const message = messages[at];
  const before = messages[at - 1];
  if (message?.role !== "user" || message.text.trim() === PLAN_REQUEST || before?.role === "results") return false;
  return !(message.text.trim() === PLAN_GO_AHEAD && before?.role === "assistant" && before.calls.length === 0);
}

function madeCalls(messages: readonly Message[]): MadeCall[] {
  return messages.flatMap((message, at) => {
    const answers = messages[at + 1];
    if (message.role !== "assistant" || answers?.role !== "results") return [];
    return message.calls.flatMap(({ id, name, arguments: text }): MadeCall[] => {
      const result = answers.results.find(({ callId }) => callId === id);
      const input = parseObject(text);
      const data = result?.isError === false ? dataIn(result.content) : undefined;
      return result ? [{ key: callKey(name, input), name, arguments: input, result, data }] : [];
    });
  });
}

/** The same for two calls with equal arguments, in any order. */
export const callKey = (name: string, input: JsonValue): string => `${name} ${canonicalJson(input)}`;

/** A string result arrives as plain text, and an id with only digits must not become a number. */
function dataIn(content: string): JsonValue | undefined {
  const parsed = parseJson(content);
  if (typeof parsed === "number" && /^\d{6,}$/u.test(content)) return content;
  return parsed ?? (/^\s*[[{]/u.test(content) ? undefined : content);
}

function parseObject(text: string): JsonObject {
  const parsed = parseJson(text);
  return isJsonObject(parsed) ? parsed : {};
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** The context is the object that ends a line. Role and quoted texts are JSON strings. */
const objectsIn = (preface: string): JsonObject[] =>
  preface
    .split("\n")
    .map((line) => parseJson(line.slice(line.indexOf("{"))))
    .filter(isJsonObject);
