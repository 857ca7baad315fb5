import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import type { ModelCall, ModelDelta, ModelError, ModelStop, TokenUsage } from "@patchbay/engine/ports/model-provider";
import { modelFailure, retryAfterMs } from "./model-failure.ts";
import { parseArguments, textOfArguments } from "./neutral-request.ts";
import { type Accumulator, createMeter, type Meter, metered, reasoningOf, type TurnOptions } from "./turn-stream.ts";
import { endOf, wireEnds } from "./wire-ends.ts";
import { distinctIds } from "./wire-ids.ts";

/** Marks echoed parts as coming from this wire. */
export const GEMINI_WIRE = "gemini";

interface CallPart {
  id?: string;
  name?: string;
  /** An object; a text if parsing the object would change it, and from compatible servers. */
  args?: JsonValue;
  partialArgs?: PartialArg[];
  /** More parts follow for this call. */
  willContinue?: boolean;
}

interface Part {
  text?: string;
  thought?: boolean;
  functionCall?: CallPart;
}

/** The chunk members that the accumulator reads; it ignores the rest. */
export interface GeminiChunk {
  candidates?: { content?: { parts?: Part[] }; finishReason?: string }[];
  promptFeedback?: { blockReason?: string };
  usageMetadata?: {
    promptTokenCount?: number;
    toolUsePromptTokenCount?: number;
    cachedContentTokenCount?: number;
    candidatesTokenCount?: number;
    thoughtsTokenCount?: number;
  };
  modelVersion?: string;
  error?: GeminiErrorBody;
}

const ENDS = wireEnds({
  calls: "STOP",
  length: "MAX_TOKENS",
  refused: "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII LANGUAGE",
  malformed: "MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS",
});

export function geminiAccumulator(options: TurnOptions): Accumulator<GeminiChunk> {
  const parts: Part[] = [];
  const calls: ModelCall[] = [];
  const thoughts: string[] = [];
  let text = "";
  let thinking = false;
  /** A call whose arguments are still arriving, in parts that do not repeat its name. */
  let open: { call: ModelCall; args: JsonObject; part: { functionCall: CallPart } } | undefined;
  let broken = false;
  let stop: ModelStop | undefined;
  let model = options.model;
  const meter = createMeter(options);

  function takePart(part: Part, closes: boolean): void {
    if (part.functionCall) return takeCall({ ...part, functionCall: part.functionCall }, closes);
    // The empty part that closes a turn: Vertex refuses it in a request.
    if (part.text === "" && Object.keys(part).every((name) => name === "text" || name === "thought")) return;
    parts.push(part);
    if (!part.thought) text += part.text ?? "";
    else if (part.text) thoughts.push((thinking ? (thoughts.pop() ?? "") : "") + part.text);
    // The counts in each chunk include its reasoning.
    meter.wrote(part.thought ? "" : part.text);
    thinking = part.thought === true;
  }

  function takeCall(part: Part & { functionCall: CallPart }, closes: boolean): void {
    const { partialArgs = [], willContinue = false, ...whole } = part.functionCall;
    if (!open) {
      const { id = "", name, args } = whole;
      // The wire sends parsed arguments; the port expects text.
      const text = textOfArguments(args).replace(/^\{\}$/, "");
      // An empty part ends a call sent in several parts, or a call that has already ended.
      if (name === undefined && partialArgs.length === 0 && text === "") return;
      const known = calls.find((one) => one.id === id && one.name === options.names.fromWire(name ?? ""));
      if (closes && id !== "" && known?.arguments === text) return;
      if (id === "") delete whole.id;
      const call = { id, name: options.names.fromWire(name ?? ""), arguments: text };
      open = { call, args: isJsonObject(args) ? { ...args } : {}, part: { ...part, functionCall: whole } };
      calls.push(open.call);
      parts.push(open.part);
    }
    meter.wrote(JSON.stringify(whole.args ?? partialArgs));
    if (!addPartialArgs(open.args, partialArgs)) broken = true;
    if (partialArgs.length > 0) open.call.arguments = JSON.stringify(open.args);
    if (open.call.arguments !== "") open.part.functionCall.args = parseArguments(open.call.arguments);
    if (!willContinue) open = undefined;
    thinking = false;
  }

  return metered(options, meter, {
    take(chunk) {
      if (chunk.error) throw geminiFault(chunk.error);
      model = chunk.modelVersion ?? model;
      if (chunk.promptFeedback?.blockReason) stop = "refused";
      const candidate = chunk.candidates?.[0];
      const received = candidate?.content?.parts ?? [];
      for (const part of received) takePart(part, Boolean(candidate?.finishReason));
      const { usageMetadata: usage } = chunk;
      if (usage) meter.counted(usageOf(usage, meter), meter.count(usage.candidatesTokenCount));
      if (candidate?.finishReason) stop = endOf("gemini", ENDS, candidate.finishReason, stop);
      return shownOf(received);
    },
    end() {
      if (stop === undefined) return undefined;
      distinctIds(calls);
      const uses = parts.flatMap(({ functionCall }) => functionCall ?? []);
      for (const [i, { id }] of calls.entries()) if (uses[i]!.id) uses[i]!.id = id;
      // Without all its parts, a call would run with other arguments than the model meant.
      const whole = stop !== "calls" || (!open && !broken);
      const echo = { provider: GEMINI_WIRE, model: options.model, blocks: parts as unknown as JsonValue[] };
      const read = { calls, text, thoughts, model, ...(parts.length > 0 && { echo }) };
      return { stop: whole ? stop : "malformed", ...read };
    },
  });
}

/** A chunk nearly always holds one part. If it holds text and a thought, only the text is shown live. */
function shownOf(parts: Part[]): ModelDelta | undefined {
  const texts = (thought: boolean) =>
    parts.reduce((all, part) => all + (Boolean(part.thought) === thought ? (part.text ?? "") : ""), "");
  const text = texts(false);
  if (text !== "") return { type: "textDelta", text };
  const thought = texts(true);
  return thought === "" ? undefined : { type: "thoughtDelta", text: thought };
}

function usageOf(usage: NonNullable<GeminiChunk["usageMetadata"]>, { count }: Meter): TokenUsage {
  return {
    input: count(usage.promptTokenCount) + count(usage.toolUsePromptTokenCount),
    cachedInput: count(usage.cachedContentTokenCount),
    // Gemini caches on its own, charges nothing for it and reports no writes.
    cacheWriteInput: 0,
    output: count(usage.candidatesTokenCount) + count(usage.thoughtsTokenCount),
    ...reasoningOf(count(usage.thoughtsTokenCount)),
  };
}

/** One piece of a call's arguments, as Vertex streams them if a gateway requests it. */
interface PartialArg {
  /** The value's path, such as `$.filter.tags[0]`. */
  jsonPath?: string;
  stringValue?: string;
  /** A text if parsing the number would change it. */
  numberValue?: number | string;
  boolValue?: boolean;
  nullValue?: unknown;
  /** More pieces follow for the same string. */
  willContinue?: boolean;
}

/** Adds pieces to a call's arguments. False if a piece cannot be placed: the call must not run without it. */
function addPartialArgs(args: JsonObject, pieces: readonly PartialArg[]): boolean {
  return pieces.every((piece) => {
    const path = stepsOf(piece.jsonPath ?? "");
    return path !== undefined && place(args, path, piece);
  });
}

type Step = string | number;

/** `$.a.b[0]['c d']` as steps; undefined for any other form. */
function stepsOf(path: string): Step[] | undefined {
  if (!/^\$(\.[^.[\]]+|\[\d+\]|\['[^']*'\]|\["[^"]*"\])+$/.test(path)) return undefined;
  return [...path.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/g)].map(
    ([, member, index, single, double]) => (index === undefined ? (member ?? single ?? double ?? "") : Number(index)),
  );
}

function place(args: JsonObject, path: readonly Step[], piece: PartialArg): boolean {
  let at: JsonValue = args;
  for (const [depth, step] of path.entries()) {
    const next = path[depth + 1];
    if (!fits(at, step)) return false;
    const holder = at as Record<Step, JsonValue>;
    if (next === undefined) {
      const before = Object.hasOwn(holder, step) ? holder[step] : undefined;
      holder[step] = valueOf(piece, before);
      return true;
    }
    if (!Object.hasOwn(holder, step)) holder[step] = typeof next === "number" ? [] : {};
    at = holder[step]!;
  }
  return false;
}

/** Elements come in order, so an index leaves no gap; `__proto__` would not become a member. */
function fits(at: JsonValue, step: Step): boolean {
  if (typeof step === "number") return Array.isArray(at) && step <= at.length;
  return typeof at === "object" && at !== null && !Array.isArray(at) && step !== "__proto__";
}

/** A number that `JSON.stringify` writes as it is. The types lack the function. */
const { rawJSON } = JSON as unknown as { rawJSON(number: string): JsonObject };

/** Strings arrive in consecutive pieces, other values whole. */
function valueOf({ stringValue, numberValue, boolValue }: PartialArg, before: JsonValue | undefined): JsonValue {
  if (stringValue !== undefined) return typeof before === "string" ? before + stringValue : stringValue;
  if (typeof numberValue === "string") return rawJSON(numberValue);
  return numberValue ?? boolValue ?? null;
}

/** The members of an error's detail that are read, of several types. */
interface Detail {
  reason?: string;
  /** For example `34s` or `0.25s`. */
  retryDelay?: string;
  violations?: { quotaId?: string }[];
}

/** The `error` member in a response body, and in a chunk in mid-stream. */
export interface GeminiErrorBody {
  code?: number;
  status?: string;
  message?: string;
  details?: Detail[];
}

/** `headers`: those of an error response. A delay in the body is more exact and takes precedence. */
export function geminiFault(error: GeminiErrorBody, headers?: Headers): ModelError {
  const { code, status, message = "no reason given", details = [] } = error;
  const seconds = Number.parseFloat(details.find(({ retryDelay }) => retryDelay !== undefined)?.retryDelay ?? "");
  const usedUp = details.some(({ violations }) => violations?.some(({ quotaId }) => quotaId?.includes("PerDay")));
  const codes = [status, ...details.map(({ reason }) => reason), usedUp ? "insufficient_quota" : undefined];
  const wait = Number.isFinite(seconds) ? Math.ceil(seconds * 1000) : retryAfterMs(headers);
  return modelFailure("gemini", { status: code, codes, message, retryAfterMs: wait });
}
