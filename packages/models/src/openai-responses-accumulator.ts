import type { JsonValue } from "@patchbay/kit";
import type { ModelCall, ModelError, ModelStop } from "@patchbay/engine/ports/model-provider";
import { modelFailure } from "./model-failure.ts";
import { argumentsText, textOfArguments } from "./neutral-request.ts";
import { openaiUsage } from "./openai-client.ts";
import { type Accumulator, createMeter, metered, type TurnOptions } from "./turn-stream.ts";
import { endOf, unknownEnd, wireEnds } from "./wire-ends.ts";
import { type Item, type OutputEvent, responseOutputs } from "./openai-responses-outputs.ts";
import { distinctIds } from "./wire-ids.ts";

/** Marks echoed items as coming from this wire. */
export const RESPONSES_WIRE = "openai-responses";

interface Fault {
  code?: string | null;
  type?: string;
  message?: string;
}

interface ResponseBody {
  model?: string;
  status?: string | null;
  output?: Item[];
  error?: Fault | null;
  incomplete_details?: { reason?: string } | null;
  usage?: {
    input_tokens?: number;
    input_tokens_details?: { cached_tokens?: number; cache_write_tokens?: number } | null;
    output_tokens?: number;
    output_tokens_details?: { reasoning_tokens?: number } | null;
  } | null;
}

/** The event members that the accumulator reads; it ignores the rest. */
export interface ResponsesEvent extends Fault, OutputEvent {
  type: string;
  response?: ResponseBody;
  error?: Fault;
}

const ENDS = wireEnds({
  calls: "completed",
  length: "incomplete:max_output_tokens",
  refused: "incomplete:content_filter",
});

export function responsesAccumulator(options: TurnOptions): Accumulator<ResponsesEvent> {
  const outputs = responseOutputs();
  let final: { response: ResponseBody; stop: ModelStop } | undefined;
  let calling = false;
  const meter = createMeter(options);

  return metered(options, meter, {
    take(event) {
      // Every delta is text, including arguments and refusals.
      if (typeof event.delta === "string") meter.wrote(event.delta);
      if (event.response?.usage) {
        const { input_tokens: input, input_tokens_details: details, output_tokens: output } = event.response.usage;
        meter.counted(
          openaiUsage({ input, details, output, written: event.response.usage.output_tokens_details }, meter),
        );
      }
      switch (event.type) {
        case "response.output_text.delta":
          if (typeof event.delta !== "string" || event.delta === "") return undefined;
          return { type: isCommentary(outputs.piece(event)) ? "thoughtDelta" : "textDelta", text: event.delta };
        case "response.reasoning_summary_text.delta":
        case "response.reasoning_text.delta":
          return typeof event.delta === "string" && event.delta !== ""
            ? { type: "thoughtDelta", text: event.delta }
            : undefined;
        case "response.output_item.added":
          // The only sign of hidden reasoning is that it has begun.
          meter.wrote("");
          outputs.begin(event);
          calling ||= event.item?.type === "function_call";
          break;
        case "response.output_item.done":
          // Only now are encrypted reasoning and arguments complete.
          outputs.finish(event);
          break;
        case "response.function_call_arguments.delta":
        case "response.function_call_arguments.done":
          outputs.piece(event);
          calling = true;
          break;
        case "response.completed":
        case "response.incomplete":
        case "response.cancelled": {
          const response = event.response ?? {};
          final = { response, stop: endOfResponse(event.type.slice("response.".length), response) };
          break;
        }
        case "response.failed":
          throw fault(event.response?.error ?? {});
        case "error":
          throw fault(event.error ?? event);
      }
      return undefined;
    },
    end() {
      if (!final) return undefined;
      const { response, stop } = final;
      const items = outputs.items(response.output ?? [], stop === "calls");
      // A compatible server may complete a response whose call it has not finished.
      const open = items.find(({ status }) => status === "incomplete" || status === "failed");
      if (open && stop === "calls") throw unknownEnd("openai", `an ${open.status} ${open.type}`);
      const { refusal, ...read } = readItems(items, options);
      const model = response.model ?? options.model;
      if (refusal !== "") return { ...read, refusal, model, stop: "refused" };
      return { ...read, model, stop, ...(stop === "length" && calling && { cutCall: true }) };
    },
  });
}

function isCommentary(item: Item | undefined): boolean {
  return item?.type === "message" && item.phase === "commentary";
}

/** The closing event's status counts more than its name. */
function endOfResponse(name: string, { status, incomplete_details: details }: ResponseBody): ModelStop {
  const end = status ?? name;
  return endOf("openai", ENDS, end === "incomplete" ? `incomplete:${details?.reason}` : end);
}

function fault({ code, type, message = "no reason given" }: Fault): ModelError {
  return modelFailure("openai", { codes: [type === "error" ? undefined : type, code], message });
}

function readItems(items: Item[], { model, names }: TurnOptions) {
  const calls: ModelCall[] = [];
  const thoughts: string[] = [];
  const texts: string[] = [];
  const refusals: string[] = [];
  for (const item of items) {
    if (item.type === "function_call") {
      const text = textOfArguments(item.arguments);
      calls.push({ id: item.call_id ?? "", name: names.fromWire(item.name ?? ""), arguments: text });
      item.arguments = argumentsText(text);
    } else if (item.type === "reasoning") {
      thoughts.push(...partTexts(item.summary?.length ? item["summary"] : item["content"]));
    } else if (item.type === "message") {
      const parts = Array.isArray(item["content"]) ? item["content"] : [];
      refusals.push(...partTexts(parts.filter(isRefusal)));
      (isCommentary(item) ? thoughts : texts).push(...partTexts(parts.filter((part) => !isRefusal(part))));
    }
  }
  distinctIds(calls);
  for (const [i, item] of items.filter(({ type }) => type === "function_call").entries()) item.call_id = calls[i]!.id;
  const echo = { provider: RESPONSES_WIRE, model, blocks: items };
  return { calls, text: texts.join(""), refusal: refusals.join(""), thoughts, echo };
}

function isRefusal(part: JsonValue): boolean {
  return typeof part === "object" && part !== null && "type" in part && part.type === "refusal";
}

function partTexts(parts: JsonValue | undefined): string[] {
  if (!Array.isArray(parts)) return [];
  const texts = parts.map((part) => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return "";
    const text = part["text"] ?? part["refusal"];
    return typeof text === "string" ? text : "";
  });
  return texts.filter((text) => text !== "");
}
