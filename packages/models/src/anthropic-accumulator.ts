import type { JsonObject, JsonValue } from "@patchbay/kit";
import type { ModelCall, ModelDelta, ModelStop, TokenUsage } from "@patchbay/engine/ports/model-provider";
import { modelFailure } from "./model-failure.ts";
import { parseArguments, textOfArguments } from "./neutral-request.ts";
import { type Accumulator, createMeter, type Meter, metered, reasoningOf, type TurnOptions } from "./turn-stream.ts";
import { endOf, unknownEnd, wireEnds } from "./wire-ends.ts";
import { distinctIds } from "./wire-ids.ts";

/** Marks echoed blocks as coming from this wire. */
export const ANTHROPIC_WIRE = "anthropic";

interface AnthropicUsage {
  input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
  /** A breakdown that `cache_creation_input_tokens` includes. */
  cache_creation?: { ephemeral_1h_input_tokens?: number } | null;
  cache_read_input_tokens?: number | null;
  output_tokens?: number | null;
  output_tokens_details?: { thinking_tokens?: number | null } | null;
}

/** The event members that the accumulator reads; it ignores the rest. */
export interface AnthropicEvent {
  type: string;
  index?: number | null;
  message?: { model?: string; usage?: AnthropicUsage };
  content_block?: JsonObject & { type: string };
  delta?: {
    type?: string;
    text?: string;
    thinking?: string;
    signature?: string;
    partial_json?: JsonValue;
    citation?: JsonValue;
    stop_reason?: string | null;
    stop_details?: { explanation?: string | null } | null;
  };
  usage?: AnthropicUsage;
  error?: { type?: string; message?: string; details?: { error_code?: string } | null };
}

const ENDS = wireEnds({
  stop: "end_turn stop_sequence",
  calls: "tool_use",
  length: "max_tokens",
  pause: "pause_turn",
  refused: "refusal",
  context_window: "model_context_window_exceeded",
});

interface Building {
  block: JsonObject & { type: string };
  /** The argument text so far. */
  json: string;
}

export function anthropicAccumulator(options: TurnOptions): Accumulator<AnthropicEvent> {
  const blocks: Building[] = [];
  /** The block that an index's deltas belong to; compatible servers number every block 0, or none. */
  const open = new Map<number | null | undefined, Building>();
  const usage: AnthropicUsage = {};
  const meter = createMeter(options);
  let model = options.model;
  let stop: ModelStop | undefined;
  let refusal: string | undefined;
  let ended = false;

  function takeDelta(building: Building | undefined, delta: AnthropicEvent["delta"]): ModelDelta | undefined {
    if (!building || !delta) return undefined;
    const { block } = building;
    switch (delta.type) {
      case "text_delta":
        append(block, "text", delta.text);
        meter.wrote(delta.text);
        return delta.text ? { type: "textDelta", text: delta.text } : undefined;
      case "thinking_delta":
        append(block, "thinking", delta.thinking);
        meter.wrote(delta.thinking);
        return delta.thinking ? { type: "thoughtDelta", text: delta.thinking } : undefined;
      case "signature_delta":
        append(block, "signature", delta.signature);
        break;
      case "input_json_delta":
        building.json += textOfArguments(delta.partial_json);
        meter.wrote(textOfArguments(delta.partial_json));
        break;
      case "citations_delta":
        block["citations"] = [...(Array.isArray(block["citations"]) ? block["citations"] : []), delta.citation ?? null];
    }
    return undefined;
  }

  /** Later counts replace earlier ones: they are cumulative. */
  function note(seen: AnthropicUsage | undefined): void {
    if (!seen) return;
    for (const [name, count] of Object.entries(seen)) if (count !== null) Object.assign(usage, { [name]: count });
    meter.counted(total(usage, meter));
  }

  return metered(options, meter, {
    take(event) {
      switch (event.type) {
        case "message_start":
          model = event.message?.model ?? model;
          note(event.message?.usage);
          break;
        case "content_block_start":
          if (event.content_block)
            open.set(event.index, (blocks[blocks.length] = { block: event.content_block, json: "" }));
          break;
        case "content_block_delta":
          return takeDelta(open.get(event.index), event.delta);
        case "message_delta":
          if (event.delta?.stop_reason) stop = endOf("anthropic", ENDS, event.delta.stop_reason, stop);
          refusal = event.delta?.stop_details?.explanation ?? refusal;
          note(event.usage);
          break;
        case "message_stop":
          ended = true;
          break;
        case "error": {
          const { type, message = "no reason given", details } = event.error ?? {};
          throw modelFailure("anthropic", { codes: [type, details?.error_code], message });
        }
      }
      return undefined;
    },
    end() {
      if (!ended) return undefined;
      if (stop === undefined) throw unknownEnd("anthropic", "only message_stop");
      const read = readBlocks(blocks, options);
      return { ...read, stop, model, refusal };
    },
  });
}

function append(block: JsonObject, member: string, text: string | undefined): void {
  const before = block[member];
  block[member] = (typeof before === "string" ? before : "") + (text ?? "");
}

function total(usage: AnthropicUsage, { count }: Meter): TokenUsage {
  const cachedInput = count(usage.cache_read_input_tokens);
  const cacheWriteInput = count(usage.cache_creation_input_tokens);
  const hourCacheWriteInput = count(usage.cache_creation?.ephemeral_1h_input_tokens);
  return {
    input: count(usage.input_tokens) + cacheWriteInput + cachedInput,
    cachedInput,
    cacheWriteInput,
    ...(hourCacheWriteInput > 0 && { hourCacheWriteInput }),
    output: count(usage.output_tokens),
    ...reasoningOf(count(usage.output_tokens_details?.thinking_tokens)),
  };
}

function readBlocks(blocks: readonly Building[], { model, names }: TurnOptions) {
  const calls: ModelCall[] = [];
  const uses: JsonObject[] = [];
  const thoughts: string[] = [];
  let text = "";
  for (const { block, json } of blocks) {
    if (block.type === "text") text += str(block["text"]);
    else if (block.type === "thinking" && block["thinking"]) thoughts.push(str(block["thinking"]));
    else if (block.type === "tool_use") {
      // Compatible servers may send the whole input when the block begins.
      const args = json || textOfArguments(block["input"]).replace(/^\{\}$/, "");
      block["input"] = parseArguments(args);
      calls.push({ id: str(block["id"]), name: names.fromWire(str(block["name"])), arguments: args });
      uses.push(block);
    }
  }
  distinctIds(calls);
  for (const [i, { id }] of calls.entries()) uses[i]!["id"] = id;
  // The wire sends empty text blocks, but refuses them in a request.
  const echoed = blocks.map(({ block }) => block).filter(({ type, text }) => type !== "text" || text !== "");
  return { calls, text, thoughts, echo: { provider: ANTHROPIC_WIRE, model, blocks: echoed } };
}

function str(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
