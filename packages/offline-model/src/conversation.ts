import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";
import type { Message, ModelResult, PlanTexts } from "./model.ts";

/** A call of this run with its result. */
export interface MadeCall {
  key: string;
  name: string;
  arguments: JsonObject;
  result: ModelResult;
  /** The result's value: JSON, or the text itself where it is plain text. Undefined where the call failed or JSON was cut. */
  data: JsonValue | undefined;
}

/** What a turn needs of the messages. */
export interface Conversation {
  query: string;
  preface: string;
  /** Earlier queries, newest first. */
  earlierQueries: string[];
  /** Calls that earlier runs of the thread made, newest first. */
  earlierCalls: { name: string; arguments: JsonObject }[];
  /** True when the answer just before the query was given without a call: it may have asked for something. */
  wasAsked: boolean;
  made: MadeCall[];
}

/** Finds the query to act on, the messages before it and the calls since. */
export function readConversation(messages: readonly Message[], plan: PlanTexts): Conversation {
  const at = messages.findLastIndex((_, index) => isQuery(messages, index, plan));
  const asked = messages[at];
  const query = asked?.role === "user" ? asked : { text: "", preface: "" };
  const before = messages.slice(0, Math.max(at, 0));
  return {
    query: query.text.replace(plan.request, "").trim(),
    preface: query.preface ?? "",
    earlierQueries: before
      .flatMap((message, index) => (message.role === "user" && isQuery(before, index, plan) ? [message.text] : []))
      .reverse()
      .slice(0, 6),
    earlierCalls: before
      .flatMap((message) =>
        message.role === "assistant"
          ? message.calls.map(({ name, arguments: text }) => ({ name, arguments: parseArguments(text) }))
          : [],
      )
      .reverse()
      .slice(0, 50),
    wasAsked: isAnswer(before.at(-1)) && before.at(-2)?.role === "user",
    made: madeCalls(messages.slice(at + 1)),
  };
}

const isAnswer = (message: Message | undefined) => message?.role === "assistant" && message.calls.length === 0;

/** False for what the loop itself says: a request for a plan, the word to carry it out, or a remark after results. */
function isQuery(messages: readonly Message[], at: number, plan: PlanTexts): boolean {
  const message = messages[at];
  if (message?.role !== "user") return false;
  if (message.text.trim() === plan.request) return false;
  const before = messages[at - 1];
  if (before?.role === "results") return false;
  return !(message.text.trim() === plan.goAhead && before?.role === "assistant" && before.calls.length === 0);
}

function madeCalls(messages: readonly Message[]): MadeCall[] {
  const made: MadeCall[] = [];
  for (const [at, message] of messages.entries()) {
    const answers = messages[at + 1];
    if (message.role !== "assistant" || answers?.role !== "results") continue;
    for (const [place, call] of message.calls.entries()) {
      const result = answers.results.find(({ callId }) => callId === call.id) ?? answers.results[place];
      const input = parseArguments(call.arguments);
      if (result)
        made.push({
          key: callKey(call.name, input),
          name: call.name,
          arguments: input,
          result,
          data: result.isError ? undefined : dataOf(result.content),
        });
    }
  }
  return made;
}

/** The same for two calls of one function with equal arguments, whatever the order of their members. */
export function callKey(name: string, input: JsonValue): string {
  return `${name} ${JSON.stringify(sorted(input))}`;
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, sorted(member)]);
}

function parseArguments(text: string): JsonObject {
  const parsed = parseJson(text);
  return isJsonObject(parsed) ? parsed : {};
}

/** A string result arrives as plain text, so an id of digits must not become a number. */
function dataOf(content: string): JsonValue | undefined {
  const parsed = parseJson(content);
  if (typeof parsed === "number" && /^\d{6,}$/u.test(content)) return content;
  return parsed ?? (/^\s*[[{]/u.test(content) ? undefined : content);
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** The JSON objects in a preface, at any position. */
export function objectsIn(preface: string): JsonObject[] {
  const found: JsonObject[] = [];
  let at = preface.indexOf("{");
  for (let tries = 0; at >= 0 && tries < 8; tries += 1) {
    const end = closing(preface, at);
    const parsed = end < 0 ? undefined : parseJson(preface.slice(at, end));
    if (isJsonObject(parsed)) found.push(parsed);
    at = preface.indexOf("{", isJsonObject(parsed) ? end : at + 1);
  }
  return found;
}

function closing(text: string, start: number): number {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at += 1) {
    const sign = text[at];
    if (quoted && sign === "\\") at += 1;
    else if (sign === '"') quoted = !quoted;
    else if (!quoted && sign === "{") depth += 1;
    else if (!quoted && sign === "}" && (depth -= 1) === 0) return at + 1;
  }
  return -1;
}
