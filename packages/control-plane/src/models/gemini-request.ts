import type { JsonObject, JsonValue } from "@patchbay/protocol";
import type { Message, ModelFunction, ModelRequest, ModelResult } from "../ports/model-provider.ts";
import { geminiCapabilities } from "./capabilities.ts";
import { fittingEcho, parseArguments, settleTemperature, userText } from "./neutral-request.ts";
import { isMadeUpCallId } from "./wire-call-id.ts";
import { wireNames, type WireNames } from "./wire-names.ts";
import { hasMembers, takesNothing, wireSchema } from "./wire-schema.ts";

/** Tags the parts this wire's turns are echoed with. */
export const GEMINI_WIRE = "gemini";

/** Stands where a signature is wanted for a call that this model did not make (documented by the provider for that). */
const NO_SIGNATURE = "skip_thought_signature_validator";

export interface GeminiContent {
  role: "user" | "model";
  parts: JsonObject[];
}

export interface GeminiBody {
  contents: GeminiContent[];
  systemInstruction?: { role: "system"; parts: JsonObject[] };
  tools?: JsonObject[];
  toolConfig?: JsonObject;
  generationConfig: JsonObject;
}

export interface GeminiRequest {
  body: GeminiBody;
  warnings: string[];
  names: WireNames;
}

export function geminiRequest(request: ModelRequest): GeminiRequest {
  const { model, system, functions, maxTokens } = request;
  const names = wireNames(functions);
  const can = geminiCapabilities(model);
  const { temperature, warnings } = settleTemperature(request, { takes: can.temperature, max: 2 });
  const generationConfig: JsonObject = { maxOutputTokens: maxTokens };
  if (temperature !== undefined) generationConfig["temperature"] = temperature;
  if (can.thoughts) generationConfig["thinkingConfig"] = { includeThoughts: true };
  const body: GeminiBody = {
    contents: contentsOf(request, names, can.signatures),
    generationConfig,
  };
  if (system !== "") body.systemInstruction = { role: "system", parts: [{ text: system }] };
  if (functions.length > 0) {
    body.tools = [{ functionDeclarations: declarations(functions, names) }];
    body.toolConfig = { functionCallingConfig: callingConfig(request, names) };
  }
  return { body, warnings, names };
}

function callingConfig({ toolChoice, respond }: ModelRequest, names: WireNames): JsonObject {
  if (toolChoice === "respond" && respond) return { mode: "ANY", allowedFunctionNames: [names.toWire(respond.name)] };
  return { mode: toolChoice === "none" ? "NONE" : "AUTO" };
}

const knownDeclarations = new WeakMap<readonly ModelFunction[], JsonObject[]>();

function declarations(functions: readonly ModelFunction[], names: WireNames): JsonObject[] {
  let list = knownDeclarations.get(functions);
  if (!list) {
    list = functions.map(({ name, description, inputSchema }) => ({
      name: names.toWire(name),
      description,
      ...parametersOf(inputSchema),
    }));
    knownDeclarations.set(functions, list);
  }
  return list;
}

/** An object that says nothing of its members is refused; a missing schema is not, nor one that takes any member. */
function parametersOf(inputSchema: JsonObject): JsonObject {
  if (takesNothing(inputSchema)) return {};
  const wire = wireSchema(inputSchema);
  return { parametersJsonSchema: hasMembers(wire) ? wire : { additionalProperties: true, ...wire } };
}

/** A result must name its call as the call is named before it: an echo has a made-up name as the model wrote it. */
function contentsOf({ messages, model }: ModelRequest, names: WireNames, signatures: boolean): GeminiContent[] {
  let nameOf = names.toWire;
  return messages.flatMap((message): GeminiContent[] => {
    if (message.role === "user") return [{ role: "user", parts: [{ text: userText(message) }] }];
    if (message.role === "results")
      return [{ role: "user", parts: message.results.map((result) => responsePart(result, nameOf)) }];
    const echo = fittingEcho(message, GEMINI_WIRE, model) as JsonObject[] | undefined;
    nameOf = echo ? names.echoed : names.toWire;
    const parts = echo ?? builtParts(message, names, signatures);
    return parts.length === 0 ? [] : [{ role: "model", parts }];
  });
}

function builtParts(
  { text, calls }: Extract<Message, { role: "assistant" }>,
  names: WireNames,
  signatures: boolean,
): JsonObject[] {
  const callParts = calls.map(({ id, name, arguments: args }, i) => ({
    functionCall: { ...wireId(id), name: names.toWire(name), args: parseArguments(args) },
    ...(signatures && i === 0 ? { thoughtSignature: NO_SIGNATURE } : {}),
  }));
  return [...(text === "" ? [] : [{ text }]), ...callParts];
}

function responsePart({ callId, name, content, isError }: ModelResult, nameOf: WireNames["toWire"]): JsonObject {
  const response: JsonObject = isError ? { error: content } : { output: readResult(content) };
  return { functionResponse: { ...wireId(callId), name: nameOf(name), response } };
}

/** Older models give calls no id, and must not get one back. */
function wireId(id: string): { id?: string } {
  return isMadeUpCallId(id) ? {} : { id };
}

/** A result as a value, so that its quotes are not escaped; one that was cut to size is no JSON any more and goes as text. */
function readResult(content: string): JsonValue {
  try {
    return JSON.parse(content) as JsonValue;
  } catch {
    return content;
  }
}
