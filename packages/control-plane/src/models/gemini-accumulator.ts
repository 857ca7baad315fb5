import type { JsonObject, JsonValue } from "@patchbay/protocol";
import {
  ModelError,
  type ModelCall,
  type ModelEvent,
  type ModelStop,
  type TokenUsage,
} from "../ports/model-provider.ts";
import { geminiFault, type GeminiErrorBody } from "./gemini-failure.ts";
import { addPartialArgs, type PartialArg } from "./gemini-partial-call.ts";
import { GEMINI_WIRE } from "./gemini-request.ts";
import { createMeter } from "./meter.ts";
import { settleTurn, tokenCount } from "./settled-turn.ts";
import type { Accumulator } from "./turn-stream.ts";
import { madeUpCallId } from "./wire-call-id.ts";
import type { WireNames } from "./wire-names.ts";

interface CallPart {
  id?: string;
  name?: string;
  args?: JsonObject;
  partialArgs?: PartialArg[];
  /** Further parts of this call follow. */
  willContinue?: boolean;
}

interface Part {
  text?: string;
  thought?: boolean;
  functionCall?: CallPart;
}

/** The members that are read of the wire's chunks; the rest is passed over. */
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

const STOPS: Record<string, ModelStop> = {
  STOP: "calls",
  MAX_TOKENS: "length",
  SAFETY: "refused",
  RECITATION: "refused",
  BLOCKLIST: "refused",
  PROHIBITED_CONTENT: "refused",
  SPII: "refused",
  LANGUAGE: "refused",
  MALFORMED_FUNCTION_CALL: "malformed",
  UNEXPECTED_TOOL_CALL: "malformed",
  TOO_MANY_TOOL_CALLS: "malformed",
};

export function geminiAccumulator(options: {
  model: string;
  names: WireNames;
  warnings: string[];
}): Accumulator<GeminiChunk> {
  const parts: Part[] = [];
  const calls: ModelCall[] = [];
  const thoughts: string[] = [];
  let text = "";
  let thinking = false;
  /** A call whose arguments still arrive, in parts that do not repeat its name. */
  let open: { call: ModelCall; args: JsonObject; part: { functionCall: CallPart } } | undefined;
  let broken = false;
  let stop: ModelStop | undefined;
  let model = options.model;
  const meter = createMeter();

  function takePart(part: Part): void {
    if (part.functionCall) return takeCall({ ...part, functionCall: part.functionCall });
    parts.push(part);
    if (part.thought && part.text) {
      if (thinking) thoughts.push((thoughts.pop() ?? "") + part.text);
      else thoughts.push(part.text);
    } else if (part.text) text += part.text;
    // Reasoning is counted in each chunk.
    meter.wrote(part.thought ? "" : part.text);
    thinking = part.thought === true;
  }

  function takeCall(part: Part & { functionCall: CallPart }): void {
    const { partialArgs = [], willContinue = false, ...whole } = part.functionCall;
    if (!open) {
      const { id, name, args = {} } = whole;
      // An empty part ends a call of several parts, or one that is over already.
      if (name === undefined && partialArgs.length === 0 && Object.keys(args).length === 0) return;
      open = {
        call: { id: id || madeUpCallId(), name: options.names.fromWire(name ?? ""), arguments: "" },
        args: { ...args },
        part: { ...part, functionCall: whole },
      };
      calls.push(open.call);
      parts.push(open.part);
    }
    meter.wrote(JSON.stringify(whole.args ?? partialArgs));
    if (!addPartialArgs(open.args, partialArgs)) broken = true;
    // The wire hands out parsed arguments; the port wants their text.
    if (Object.keys(open.args).length > 0) {
      open.call.arguments = JSON.stringify(open.args);
      open.part.functionCall.args = open.args;
    }
    if (!willContinue) open = undefined;
    thinking = false;
  }

  return {
    take(chunk) {
      if (chunk.error) throw geminiFault(chunk.error);
      model = chunk.modelVersion ?? model;
      if (chunk.promptFeedback?.blockReason) stop = "refused";
      const candidate = chunk.candidates?.[0];
      const received = candidate?.content?.parts ?? [];
      for (const part of received) takePart(part);
      if (chunk.usageMetadata) {
        const counts = usageOf(chunk.usageMetadata, options.warnings);
        meter.counted(counts, tokenCount(chunk.usageMetadata.candidatesTokenCount, options.warnings));
      }
      if (candidate?.finishReason) stop = stopOf(candidate.finishReason);
      return shownOf(received);
    },
    end() {
      if (stop === undefined) return undefined;
      // A call that lacks a part would run with other arguments than the model meant.
      const whole = stop !== "calls" || (!open && !broken);
      return {
        ...settleTurn(whole ? stop : "malformed", calls),
        text,
        thoughts,
        usage: meter.usage,
        model,
        ...(parts.length > 0
          ? { echo: { provider: GEMINI_WIRE, model: options.model, blocks: parts as unknown as JsonValue[] } }
          : {}),
        ...(options.warnings.length > 0 ? { warnings: options.warnings } : {}),
      };
    },
    soFar: meter.soFar,
  };
}

function stopOf(finishReason: string): ModelStop {
  const stop = STOPS[finishReason];
  if (!stop) throw new ModelError("server", `gemini ended its turn with ${finishReason}`);
  return stop;
}

/** A chunk nearly always holds one part. Where it holds text and a thought, the text is what is shown live. */
function shownOf(parts: Part[]): ModelEvent | undefined {
  const texts = (thought: boolean) =>
    parts.reduce((all, part) => all + (Boolean(part.thought) === thought ? (part.text ?? "") : ""), "");
  const text = texts(false);
  if (text !== "") return { type: "textDelta", text };
  const thought = texts(true);
  return thought === "" ? undefined : { type: "thoughtDelta", text: thought };
}

function usageOf(usage: NonNullable<GeminiChunk["usageMetadata"]>, warnings: string[]): TokenUsage {
  const count = (value: unknown): number => tokenCount(value, warnings);
  return {
    input: count(usage.promptTokenCount) + count(usage.toolUsePromptTokenCount),
    cachedInput: count(usage.cachedContentTokenCount),
    // Gemini caches on its own, charges nothing for it and reports no writes.
    cacheWriteInput: 0,
    output: count(usage.candidatesTokenCount) + count(usage.thoughtsTokenCount),
  };
}
