import type { GoogleGenAI } from "@google/genai";
import type {
  Message,
  ModelError,
  ModelFunction,
  ModelProvider,
  ModelRequest,
  ModelResult,
} from "@patchbay/engine/ports/model-provider";
import {
  GEMINI_WIRE,
  geminiAccumulator,
  type GeminiChunk,
  type GeminiErrorBody,
  geminiFault,
} from "./gemini-accumulator.ts";
import { type BuiltRequest, createProviderFetch, keptRequest, usableKey } from "./provider-fetch.ts";
import { wireProvider } from "./turn-stream.ts";
import { isJsonObject, type JsonObject, type JsonValue, oncePer, parseJson, present } from "@patchbay/kit";
import type { Account } from "./account.ts";
import { geminiCapabilities } from "./capabilities.ts";
import { fittingEcho, parseArguments, settleTemperature, userText } from "./neutral-request.ts";
import { withWireIds } from "./wire-ids.ts";
import { settleReasoning } from "./reasoning.ts";
import { isMadeUpCallId, wireNames, type WireNames } from "./wire-names.ts";

import { strictTogether } from "./strict-schema.ts";
import { hasMembers, takesNothing, wireSchema } from "./wire-schema.ts";

/**
 * Gemini over generateContent, Google's own or that of Vertex, with the address and headers of `@google/genai`. That package
 * sends and reads only forms that it knows, hides an error's headers, and gives out no bytes, so the rest is done here.
 */
export function createGemini(account: Account): ModelProvider {
  let client: Promise<GoogleGenAI> | undefined;
  const build = async (model: string) => builtBy(await (client ??= connectTo(account)), model, account);
  // Tokens of Google end after an hour: the package renews them.
  const requestFor = account.auth === "google" ? build : keptRequest(build);
  const fetch = createProviderFetch();
  return wireProvider<GeminiChunk>("gemini", (request) => {
    const { body, names, warnings } = geminiRequest(request);
    return {
      accumulator: geminiAccumulator({ model: request.model, names, warnings }),
      async open(signal) {
        const { url, headers } = await requestFor(request.model);
        const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal });
        if (!response.ok) throw await geminiRefusal(response);
        return response;
      },
    };
  });
}

async function connectTo({ apiKey = "", auth, apiVersion, project, region, keyFile, ...account }: Account) {
  const { GoogleGenAI } = await import("@google/genai");
  const httpOptions = present({ baseUrl: account.baseUrl, headers: account.headers });
  const keyed = { apiKey: usableKey("gemini", apiKey), vertexai: false, apiVersion: apiVersion ?? "v1beta" };
  if (auth !== "google") return new GoogleGenAI({ ...keyed, httpOptions });
  const place = present({ project, location: region, apiVersion });
  const googleAuthOptions = present({ keyFilename: keyFile });
  return new GoogleGenAI({ vertexai: true, ...place, httpOptions, googleAuthOptions });
}

/** The request that the package would send. Its generator is not read, so it does nothing more. */
async function builtBy({ models }: GoogleGenAI, model: string, account: Account): Promise<BuiltRequest> {
  const { apiKey = "", auth, header = "Authorization" } = account;
  let built: BuiltRequest | undefined;
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const headers = new Headers(init?.headers);
    headers.set("Content-Type", "application/json");
    if (auth === "bearer" || auth === "header") {
      headers.delete("x-goog-api-key");
      headers.set(header, auth === "bearer" ? `Bearer ${apiKey}` : apiKey);
    }
    built = { url: url as string, headers };
    return new Response();
  };
  const config = { automaticFunctionCalling: { disable: true }, httpOptions: { fetch } };
  const resource = auth === "google" ? `publishers/google/models/${encodeURIComponent(model)}` : resourceOf(model);
  await models.generateContentStream({ model: resource, contents: "", config });
  return built!;
}

/** The model's URL segment, encoded so that a name cannot reach another API method. */
function resourceOf(model: string): string {
  const tuned = /^tunedModels\/(.+)$/.exec(model)?.[1];
  return tuned === undefined ? `models/${encodeURIComponent(model)}` : `tunedModels/${encodeURIComponent(tuned)}`;
}

/** The documented placeholder signature for a call that this model did not make. */
const NO_SIGNATURE = "skip_thought_signature_validator";

interface GeminiContent {
  role: "user" | "model";
  parts: JsonObject[];
}

interface GeminiBody {
  contents: GeminiContent[];
  systemInstruction?: { role: "system"; parts: JsonObject[] };
  tools?: JsonObject[];
  toolConfig?: JsonObject;
  generationConfig: JsonObject;
}

export function geminiRequest(request: ModelRequest) {
  const { model, system, functions, maxTokens } = request;
  const names = wireNames(functions);
  const can = geminiCapabilities(model);
  const { temperature, warnings } = settleTemperature(request, { takes: can.temperature, max: 2 });
  const generationConfig: JsonObject = { maxOutputTokens: maxTokens };
  if (temperature !== undefined) generationConfig["temperature"] = temperature;
  const { level, warnings: ofReasoning } = settleReasoning(request, "gemini");
  warnings.push(...ofReasoning);
  if (can.thoughts) {
    const asked = typeof level === "number" ? { thinkingBudget: level } : present({ thinkingLevel: level });
    generationConfig["thinkingConfig"] = { includeThoughts: level !== 0, ...asked };
  }
  const body: GeminiBody = { contents: contentsOf(request, names, can.signatures), generationConfig };
  if (system !== "") body.systemInstruction = { role: "system", parts: [{ text: system }] };
  if (functions.length > 0) {
    body.tools = [{ functionDeclarations: declarations(functions) }];
    body.toolConfig = { functionCallingConfig: callingConfig(request, names, can.strict) };
  }
  return { body, warnings, names };
}

/** VALIDATED holds the model to all schemas of the request, so each must fit. */
function callingConfig({ toolChoice, respond, functions }: ModelRequest, names: WireNames, strict: boolean) {
  if (toolChoice === "respond" && respond) return { mode: "ANY", allowedFunctionNames: [names.toWire(respond.name)] };
  if (toolChoice === "none") return { mode: "NONE" };
  return { mode: strict && strictTogether(functions).size === functions.length ? "VALIDATED" : "AUTO" };
}

const declarations = oncePer((functions: readonly ModelFunction[]): JsonObject[] => {
  const names = wireNames(functions);
  return functions.map(({ name, description, inputSchema }) => ({
    name: names.toWire(name),
    description,
    ...parametersOf(inputSchema),
  }));
});

/** Gemini refuses an object schema without members. It accepts a missing schema, and one that allows any member. */
function parametersOf(inputSchema: JsonObject): JsonObject {
  if (takesNothing(inputSchema)) return {};
  const wire = wireSchema(inputSchema);
  return { parametersJsonSchema: hasMembers(wire) ? wire : { additionalProperties: true, ...wire } };
}

/** A result must use the same name as its call: an echo has a made-up name as the model wrote it. */
function contentsOf(request: ModelRequest, names: WireNames, signatures: boolean): GeminiContent[] {
  let nameOf = names.toWire;
  return withWireIds(request, GEMINI_WIRE, isMadeUpCallId).flatMap((message): GeminiContent[] => {
    if (message.role === "user") return [{ role: "user", parts: [{ text: userText(message) }] }];
    if (message.role === "results")
      return [{ role: "user", parts: message.results.map((result) => responsePart(result, nameOf)) }];
    const echo = fittingEcho(message, GEMINI_WIRE, request.model) as JsonObject[] | undefined;
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

/** Older models assign no call ids, and must not get one back. */
function wireId(id: string): { id?: string } {
  return isMadeUpCallId(id) ? {} : { id };
}

/** A result as a value, which avoids escaped quotes; a truncated result is not valid JSON and is sent as text. */
function readResult(content: string): JsonValue {
  const parsed = parseJson(content);
  return parsed.ok ? (parsed.value as JsonValue) : content;
}

/** Reads an error response. Gateways in front of Google may send a different body, whose text is then the reason. */
async function geminiRefusal(response: Response): Promise<ModelError> {
  const text = await response.text();
  const body = parseJson(text);
  const [first] = body.ok ? [body.value].flat() : [];
  const error = isJsonObject(first) && isJsonObject(first["error"]) ? (first["error"] as GeminiErrorBody) : {};
  return geminiFault({ message: text, ...error, code: response.status }, response.headers);
}
