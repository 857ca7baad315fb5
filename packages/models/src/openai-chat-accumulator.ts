import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import type { ModelDelta, ModelStop } from "@patchbay/engine/ports/model-provider";
import { modelFailure } from "./model-failure.ts";
import { argumentsText, textOfArguments } from "./neutral-request.ts";
import { openaiUsage } from "./openai-client.ts";
import { type Accumulator, createMeter, metered, type TurnOptions } from "./turn-stream.ts";
import { endOf, wireEnds } from "./wire-ends.ts";
import { type CallDelta, callPieces, type ChatCall } from "./openai-chat-calls.ts";
import { distinctIds } from "./wire-ids.ts";

/** Marks echoed messages as coming from this wire. */
export const CHAT_WIRE = "openai-chat";

interface Delta {
  /** A text; Mistral and gateways to Claude send a list of texts and thoughts. */
  content?: JsonValue;
  refusal?: string | null;
  /** Compatible servers use two names for reasoning text. */
  reasoning_content?: string | null;
  reasoning?: string | null;
  tool_calls?: CallDelta[] | null;
}

/** The chunk members that the accumulator reads; it ignores the rest. */
export interface ChatChunk {
  object?: string;
  model?: string;
  choices?: { index?: number; delta?: Delta | null; message?: Delta; finish_reason?: string | null }[] | null;
  usage?: {
    prompt_tokens?: number;
    prompt_tokens_details?: { cached_tokens?: number; cache_write_tokens?: number } | null;
    completion_tokens?: number;
    completion_tokens_details?: { reasoning_tokens?: number } | null;
  } | null;
  error?: { code?: string | number | null; type?: string; message?: string } | string | null;
}

/**
 * Some servers end a turn that calls with `stop`; both are natural ends. Text Generation Inference, Together, Mistral and
 * gateways to Claude have names of their own.
 */
const ENDS = wireEnds({
  calls: "stop tool_calls function_call eos eos_token stop_sequence end_turn tool_use",
  length: "length max_tokens model_length",
  refused: "content_filter",
});

export function chatAccumulator(options: TurnOptions): Accumulator<ChatChunk> {
  const calls: ChatCall[] = [];
  const takeCalls = callPieces(calls, options);
  let [text, refusal, thought, echoed, model] = ["", "", "", "", options.model];
  let thoughtMember: "reasoning_content" | "reasoning" = "reasoning_content";
  let stop: ModelStop | undefined;
  const meter = createMeter(options);

  function takeDelta(delta: Delta, closes: boolean): ModelDelta | undefined {
    meter.wrote(takeCalls(delta.tool_calls ?? [], closes));
    const content = partsOf(delta.content);
    const reasoning = delta.reasoning_content || delta.reasoning;
    if (reasoning) echoed += reasoning;
    thought += (reasoning ?? "") + content.thought;
    if (delta.reasoning && !delta.reasoning_content) thoughtMember = "reasoning";
    if (delta.refusal) refusal += delta.refusal;
    text += content.text;
    for (const piece of [reasoning, content.thought, delta.refusal, content.text]) meter.wrote(piece);
    // Refusal text is not part of an answer, so no delta shows it.
    if (content.text) return { type: "textDelta", text: content.text };
    const shown = reasoning || content.thought;
    return shown ? { type: "thoughtDelta", text: shown } : undefined;
  }

  return metered(options, meter, {
    take(chunk) {
      // vLLM has the error's members in the event itself.
      const error = chunk.object === "error" ? (chunk as NonNullable<typeof chunk.error>) : chunk.error;
      if (error) throw fault(error);
      if (chunk.model) model = chunk.model;
      const choice = chunk.choices?.[0];
      if (choice?.finish_reason) stop = endOf("openai", ENDS, choice.finish_reason, stop);
      const shown = choice?.delta ? takeDelta(choice.delta, Boolean(choice.finish_reason)) : undefined;
      // Servers that send counts with each chunk include that chunk's text.
      if (chunk.usage) {
        const { prompt_tokens: input, prompt_tokens_details: details, completion_tokens: output } = chunk.usage;
        meter.counted(openaiUsage({ input, details, output, written: chunk.usage.completion_tokens_details }, meter));
      }
      return shown;
    },
    end() {
      if (stop === undefined) return undefined;
      distinctIds(calls);
      const blocks: JsonObject = { role: "assistant", content: text || null };
      if (echoed) blocks[thoughtMember] = echoed;
      if (calls.length > 0) blocks["tool_calls"] = calls.map(echoCall);
      return {
        stop: refusal !== "" ? "refused" : stop,
        calls: calls.map((one) => ({ id: one.id, name: options.names.fromWire(one.name), arguments: one.arguments })),
        text,
        refusal,
        thoughts: thought === "" ? [] : [thought],
        model,
        ...((text || calls.length > 0) && { echo: { provider: CHAT_WIRE, model: options.model, blocks } }),
      };
    },
  });
}

/** The texts and thoughts of a content: `{ type: "thinking", thinking: [...] }` is a thought. */
function partsOf(content: JsonValue | undefined): { text: string; thought: string } {
  if (!Array.isArray(content)) return { text: typeof content === "string" ? content : "", thought: "" };
  const read = { text: "", thought: "" };
  for (const part of content.filter(isJsonObject)) {
    const isThought = /think|reason/.test(textOfArguments(part["type"]));
    const { text } = partsOf(part["thinking"] ?? part["text"]);
    read[isThought ? "thought" : "text"] += text;
  }
  return read;
}

function echoCall({ id, name, arguments: text, extra }: ChatCall): JsonObject {
  return { ...extra, id, type: "function", function: { name, arguments: argumentsText(text) } };
}

function fault(error: NonNullable<ChatChunk["error"]>) {
  if (typeof error === "string") return modelFailure("openai", { codes: [], message: error });
  const { type, code, message = "no reason given" } = error;
  // Gateways put the HTTP status here.
  if (typeof code === "number") return modelFailure("openai", { status: code, codes: [type], message });
  return modelFailure("openai", { codes: [type, code], message });
}
