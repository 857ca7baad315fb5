import { randomUUID } from "node:crypto";
import { isJsonObject, type JsonObject } from "@patchbay/kit";
import { declarationsOf, geminiObjection } from "./gemini-objections.ts";
import type { RequestSummary, ScriptedTurn, SummaryMessage } from "./script.ts";
import { signatureOf } from "./signature.ts";
import { completeSummary, list, message, pieces, sse, USAGE, wireName, type WireFormat, str } from "./wire-format.ts";

export const geminiWire: WireFormat = {
  path: /^\/v1beta\/models\/[^/:]+:streamGenerateContent$/,
  key: (headers) => (typeof headers["x-goog-api-key"] === "string" ? headers["x-goog-api-key"] : undefined),

  summarise({ body, path }) {
    const config = isJsonObject(body["generationConfig"]) ? body["generationConfig"] : {};
    const mode = JSON.stringify(body["toolConfig"] ?? {}).includes('"NONE"') ? "none" : "auto";
    return completeSummary({
      model: /models\/([^/:]+):/.exec(path)?.[1] ?? "",
      system: isJsonObject(body["systemInstruction"]) ? partsText(list(body["systemInstruction"]["parts"])) : "",
      functions: declarationsOf(body).map(({ name }) => str(name)),
      messages: list(body["contents"]).flatMap(readContent),
      toolChoice: mode,
      maxTokens: Number(config["maxOutputTokens"]),
      ...(typeof config["temperature"] === "number" ? { temperature: config["temperature"] } : {}),
    });
  },

  objection: geminiObjection,

  answer(turn, request, issued) {
    const parts = partsOf(turn, request);
    for (const { functionCall, thoughtSignature } of parts)
      if (isJsonObject(functionCall) && thoughtSignature) issued.set(str(thoughtSignature), str(functionCall["name"]));
    const { input, cachedInput, output, reasoning } = { ...USAGE, ...turn.usage };
    const base = { modelVersion: request.model, responseId: randomUUID() };
    const usageMetadata = {
      promptTokenCount: input,
      cachedContentTokenCount: cachedInput,
      thoughtsTokenCount: reasoning,
    };
    const chunk = (parts: JsonObject[], more: JsonObject = {}) =>
      sse({ candidates: [{ index: 0, content: { role: "model", parts }, ...more }], usageMetadata, ...base });
    const counted = { ...usageMetadata, candidatesTokenCount: output - reasoning, totalTokenCount: input + output };
    const last = { index: 0, content: { role: "model", parts: [] }, finishReason: finishReason(turn) };
    return {
      // Calls of one turn may share a chunk.
      body: grouped(parts).map((group) => chunk(group)),
      terminal: [sse({ candidates: [last], usageMetadata: counted, ...base })],
    };
  },

  errorBody: ({ status, code, message = "scripted", details }) => ({
    error: { code: status, message, status: code ?? STATUSES[status] ?? "UNKNOWN", ...(details ? { details } : {}) },
  }),

  errorEvent: ({ code = "UNAVAILABLE", message = "The model is overloaded." }) =>
    sse({ error: { code: 503, message, status: code } }),
};

const STATUSES: Record<number, string> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

function finishReason({ stop }: ScriptedTurn): string {
  const reasons: Record<string, string> = {
    length: "MAX_TOKENS",
    refused: "SAFETY",
    malformed: "MALFORMED_FUNCTION_CALL",
  };
  return reasons[stop ?? "stop"] ?? "STOP";
}

function partsOf(
  { thoughts = [], text, calls = [], stop }: ScriptedTurn,
  { functions, model }: RequestSummary,
): JsonObject[] {
  const newer = /^gemini-[3-9]/.test(model);
  const callParts = calls.map(({ name, arguments: args }, at) => ({
    functionCall: {
      ...(newer ? { id: randomUUID() } : {}),
      name: wireName(name, functions),
      args: isJsonObject(args) ? args : {},
    },
    // Only the first call of a step is signed.
    ...(newer && at === 0 ? { thoughtSignature: signatureOf(randomUUID()) } : {}),
  }));
  // Calls arrive complete on this wire: a turn that is cut during its last call does not contain it.
  const whole = stop === "length" ? callParts.slice(0, -1) : callParts;
  const signedEnd = newer && text !== undefined && calls.length === 0;
  return [
    ...thoughts.flatMap((thought) => pieces(thought, 20).map((piece) => ({ text: piece, thought: true }))),
    ...pieces(text ?? "", 20).map((piece) => ({ text: piece })),
    ...whole,
    ...(signedEnd ? [{ text: "", thoughtSignature: signatureOf(text) }] : []),
  ];
}

function grouped(parts: JsonObject[]): JsonObject[][] {
  const calls = parts.filter((part) => "functionCall" in part);
  const others = parts.filter((part) => !("functionCall" in part)).map((part) => [part]);
  return calls.length > 0 ? [...others, calls] : others;
}

function partsText(parts: JsonObject[]): string {
  return parts
    .filter(({ thought }) => thought !== true)
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("");
}

function readContent({ role, parts }: JsonObject): SummaryMessage[] {
  const all = list(parts);
  const text = partsText(all);
  if (role === "model") {
    const calls = all.flatMap(({ functionCall }) =>
      isJsonObject(functionCall)
        ? [
            {
              id: str(functionCall["id"] ?? functionCall["name"]),
              name: str(functionCall["name"]),
              arguments: functionCall["args"] ?? {},
            },
          ]
        : [],
    );
    return [message("assistant", { text, calls })];
  }
  const results = all.flatMap(({ functionResponse: response }) =>
    isJsonObject(response)
      ? [
          {
            callId: str(response["id"] ?? response["name"]),
            name: str(response["name"]),
            content: contentOf(response),
          },
        ]
      : [],
  );
  return [results.length > 0 ? message("results", { results }) : message("user", { text })];
}

function contentOf({ response }: JsonObject): string {
  const body = isJsonObject(response) ? response : {};
  return "error" in body ? JSON.stringify(body) : JSON.stringify(body["output"] ?? null);
}
