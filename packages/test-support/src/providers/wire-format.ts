import type { IncomingHttpHeaders } from "node:http";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import type { RequestSummary, ScriptedError, ScriptedTurn, SummaryMessage } from "./script.ts";

/** Items that a model of a stand-in issued, by id of the call (or signature), to verify them when they are sent back. */
export type Issued = Map<string, string>;

export interface Answer {
  /** Events before the terminal one. */
  body: string[];
  terminal: string[];
}

export interface Incoming {
  headers: IncomingHttpHeaders;
  path: string;
  body: JsonObject;
}

/** One provider's wire, from the provider's side. */
export interface WireFormat {
  path: RegExp;
  key(headers: IncomingHttpHeaders): string | undefined;
  summarise(incoming: Incoming): RequestSummary;
  /** The text of the provider's 400, or undefined for a valid request. */
  objection(incoming: Incoming, issued: Issued): string | undefined;
  answer(turn: ScriptedTurn, request: RequestSummary, issued: Issued): Answer;
  errorBody(error: ScriptedError): JsonObject;
  /** The event of an error during a stream. */
  errorEvent(error: { code?: string; message?: string }): string;
}

export const USAGE = { input: 120, cachedInput: 40, cacheWriteInput: 0, output: 30, reasoning: 0 };

/** Text in small pieces, as models stream it; never cuts a character in two. */
export function pieces(text: string, size = 7): string[] {
  const units = Array.from(text);
  const cut: string[] = [];
  for (let at = 0; at < units.length; at += size) cut.push(units.slice(at, at + size).join(""));
  return cut;
}

/** The declared name of a function in a script: its own name, or the mapped one of the wire. */
export function wireName(name: string, declared: readonly string[]): string {
  if (declared.includes(name)) return name;
  const safe = name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return declared.find((candidate) => candidate === safe || candidate === `_${safe}`) ?? name;
}

/** Adds the fields derived from the messages. */
export function completeSummary(summary: Omit<RequestSummary, "query" | "results" | "step">): RequestSummary {
  const { messages } = summary;
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  const lastAssistant = messages.findLastIndex(({ role }) => role === "assistant");
  return {
    ...summary,
    query: messages[lastUser]?.text ?? "",
    results: messages.slice(lastAssistant + 1).flatMap(({ results }) => results),
    step: messages.slice(lastUser + 1).filter(({ role }) => role === "assistant").length,
  };
}

export function message(role: SummaryMessage["role"], parts: Partial<SummaryMessage>): SummaryMessage {
  return { role, text: "", calls: [], results: [], ...parts };
}

/** The first property that the provider does not know. */
export function unknownMember(body: JsonObject, members: readonly string[]): string | undefined {
  return Object.keys(body).find((member) => !members.includes(member));
}

/** Each call of a turn must have a result right after it, and each result a call. */
export function unpaired(messages: readonly SummaryMessage[]): string | undefined {
  for (const [at, { role, calls, results }] of messages.entries()) {
    const after = messages[at + 1];
    const answered = after?.role === "results" ? after.results.map(({ callId }) => callId) : [];
    const missing = calls.find(({ id }) => !answered.includes(id));
    if (role === "assistant" && missing) return missing.id;
    const asked = messages[at - 1]?.calls.map(({ id }) => id) ?? [];
    const orphan = results.find(({ callId }) => !asked.includes(callId));
    if (orphan) return orphan.callId;
  }
  return undefined;
}

export const COMMON_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

export function sse(data: JsonValue, event?: string): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** The objects of a list; empty if the value is not a list. */
export function list(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** A property as text: a string unchanged, other values as JSON, undefined as empty text. */
export function str(value: JsonValue | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
