import { inexactToText, isJsonObject, type JsonObject, type JsonValue, parseJson } from "@patchbay/kit";
import type { Message, ModelRequest } from "@patchbay/engine/ports/model-provider";

/** A temperature in the wire's range; warns when it lowers or omits the requested one. */
export function settleTemperature(
  { model, temperature }: ModelRequest,
  { takes, max }: { takes: boolean; max: number },
): { temperature?: number; warnings: string[] } {
  if (temperature === undefined) return { warnings: [] };
  if (!takes) return { warnings: [`The model ${model} takes no temperature, so llmConfig.temperature was not sent.`] };
  if (temperature <= max) return { temperature, warnings: [] };
  return {
    temperature: max,
    warnings: [`The model ${model} takes a temperature of at most ${max}, so ${max} was sent.`],
  };
}

/** A user message's text: the preface, if there is one, then the query. */
export function userText({ text, preface }: Extract<Message, { role: "user" }>): string {
  return preface === undefined || preface === "" ? text : `${preface}\n\n${text}`;
}

/** An assistant message's echo, if this wire and model produced it. */
export function fittingEcho(
  { echo }: Extract<Message, { role: "assistant" }>,
  wire: string,
  model: string,
): JsonValue | undefined {
  return echo && echo.provider === wire && echo.model === model ? echo.blocks : undefined;
}

/**
 * Arguments as a JSON object's text. Other text becomes `{}`, and the call's result reports the fault: servers refuse a
 * request that contains the broken text, and with it every later query in the thread.
 */
export function argumentsText(text: string): string {
  return parseObject(text) ? text : "{}";
}

/**
 * Arguments as the object that the wire wants; text that is not an object cannot be sent. A number that the object would
 * round is sent as text: from a rounded one the model would learn another id.
 */
export function parseArguments(text: string): JsonObject {
  return parseObject(inexactToText(text)) ?? {};
}

/** Arguments as text, from a wire that sends text or, as compatible servers do, the value. */
export function textOfArguments(value: unknown): string {
  return typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
}

/** The JSON object that a text contains; undefined for any other text. */
function parseObject(text: string): JsonObject | undefined {
  const parsed = parseJson(text);
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
}
