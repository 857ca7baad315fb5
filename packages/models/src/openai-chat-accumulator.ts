import type { JsonObject, JsonValue } from "@patchbay/kit";
import type { ModelDelta, ModelStop } from "@patchbay/engine/ports/model-provider";
import { modelFailure } from "./model-failure.ts";
import { argumentsText, textOfArguments } from "./neutral-request.ts";
import { openaiUsage } from "./openai-client.ts";
import { type Accumulator, createMeter, metered, type TurnOptions } from "./turn-stream.ts";
import { endOf, type WireEnds } from "./wire-ends.ts";
import { distinctIds } from "./wire-ids.ts";

/** Marks echoed messages as coming from this wire. */
export const CHAT_WIRE = "openai-chat";

interface CallDelta extends JsonObject {
  index?: number;
  id?: string;
  function?: { name?: string; arguments?: JsonValue };
}

interface Delta {
  content?: string | null;
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

/** Some servers end a turn that calls with `stop`; both are natural ends. */
const ENDS: WireEnds = new Map([
  ["stop", "calls"],
  ["tool_calls", "calls"],
  ["function_call", "calls"],
  ["length", "length"],
  ["content_filter", "refused"],
  // Names that Text Generation Inference, Together, Mistral and gateways to Claude have for these.
  ["eos", "calls"],
  ["eos_token", "calls"],
  ["stop_sequence", "calls"],
  ["end_turn", "calls"],
  ["tool_use", "calls"],
  ["max_tokens", "length"],
  ["model_length", "length"],
]);

interface Call {
  id: string;
  name: string;
  arguments: string;
  /** Other members, such as gateway signatures. */
  extra: JsonObject;
}

export function chatAccumulator(options: TurnOptions): Accumulator<ChatChunk> {
  const calls: Call[] = [];
  /** The call that an index's deltas belong to. */
  const open = new Map<number, Call>();
  let [text, refusal, thought, model] = ["", "", "", options.model];
  let thoughtMember: "reasoning_content" | "reasoning" = "reasoning_content";
  let stop: ModelStop | undefined;
  const meter = createMeter(options);

  function takeCall(delta: CallDelta): void {
    const { index = calls.length, id, function: part, type: _type, ...extra } = delta;
    let call = open.get(index);
    // Servers that number every call 0 start the next one with a new id.
    if (!call || (id && call.id !== "" && id !== call.id && part?.name)) {
      call = { id: "", name: "", arguments: "", extra: {} };
      calls.push(call);
      open.set(index, call);
    }
    if (id) call.id = id;
    if (part?.name && call.name !== part.name) call.name += part.name;
    const text = textOfArguments(part?.arguments);
    call.arguments += text;
    meter.wrote(text);
    Object.assign(call.extra, extra);
  }

  function takeDelta(delta: Delta): ModelDelta | undefined {
    for (const call of delta.tool_calls ?? []) takeCall(call);
    const reasoning = delta.reasoning_content || delta.reasoning;
    if (reasoning) thought += reasoning;
    if (delta.reasoning && !delta.reasoning_content) thoughtMember = "reasoning";
    if (delta.refusal) refusal += delta.refusal;
    if (delta.content) text += delta.content;
    for (const piece of [reasoning, delta.refusal, delta.content]) meter.wrote(piece);
    // Refusal text is not part of an answer, so no delta shows it.
    if (delta.content) return { type: "textDelta", text: delta.content };
    return reasoning ? { type: "thoughtDelta", text: reasoning } : undefined;
  }

  return metered(options, meter, {
    take(chunk) {
      // vLLM has the error's members in the event itself.
      const error = chunk.object === "error" ? (chunk as NonNullable<typeof chunk.error>) : chunk.error;
      if (error) throw fault(error);
      if (chunk.model) model = chunk.model;
      const choice = chunk.choices?.[0];
      if (choice?.finish_reason) stop = endOf("openai", ENDS, choice.finish_reason, stop);
      const shown = choice?.delta ? takeDelta(choice.delta) : undefined;
      // Servers that send counts with each chunk include that chunk's text.
      if (chunk.usage) {
        const { prompt_tokens: input, prompt_tokens_details: details, completion_tokens: output } = chunk.usage;
        const written = chunk.usage.completion_tokens_details;
        meter.counted(openaiUsage({ input, details, output, written }, meter));
      }
      return shown;
    },
    end() {
      if (stop === undefined) return undefined;
      distinctIds(calls);
      const blocks: JsonObject = { role: "assistant", content: text || null };
      if (thought) blocks[thoughtMember] = thought;
      if (calls.length > 0) blocks["tool_calls"] = calls.map(echoCall);
      return {
        stop: refusal !== "" ? "refused" : stop,
        calls: calls.map(({ id, name, arguments: args }) => ({
          id,
          name: options.names.fromWire(name),
          arguments: args,
        })),
        text,
        refusal,
        thoughts: thought === "" ? [] : [thought],
        model,
        ...((text || calls.length > 0) && { echo: { provider: CHAT_WIRE, model: options.model, blocks } }),
      };
    },
  });
}

function echoCall({ id, name, arguments: text, extra }: Call): JsonObject {
  return { ...extra, id, type: "function", function: { name, arguments: argumentsText(text) } };
}

function fault(error: NonNullable<ChatChunk["error"]>) {
  if (typeof error === "string") return modelFailure("openai", { codes: [], message: error });
  const { type, code, message = "no reason given" } = error;
  // Gateways put the HTTP status here.
  if (typeof code === "number") return modelFailure("openai", { status: code, codes: [type], message });
  return modelFailure("openai", { codes: [type, code], message });
}
