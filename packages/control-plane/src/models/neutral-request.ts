import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";
import type { Message, ModelRequest } from "../ports/model-provider.ts";

/** A temperature within what a wire takes, and a warning where it had to be lowered or left out. */
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

/** The text of a user message: the preface, if there is one, then the query. */
export function userText({ text, preface }: Extract<Message, { role: "user" }>): string {
  return preface === undefined || preface === "" ? text : `${preface}\n\n${text}`;
}

/** The echo of an assistant message, where it came from this wire and model. */
export function fittingEcho(
  { echo }: Extract<Message, { role: "assistant" }>,
  wire: string,
  model: string,
): JsonValue | undefined {
  return echo && echo.provider === wire && echo.model === model ? echo.blocks : undefined;
}

/**
 * Arguments as the JSON text of an object. Text that is not one goes back as `{}`, and the call's result says what was wrong:
 * servers refuse a request that holds the broken text, and with it every later query of the thread.
 */
export function argumentsText(text: string): string {
  return parseObject(text) ? text : "{}";
}

/** Arguments as the object that the wire wants; text that is not an object cannot be sent. */
export function parseArguments(text: string): JsonObject {
  return parseObject(text) ?? {};
}

/** The JSON object in a text; undefined for any other text. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
