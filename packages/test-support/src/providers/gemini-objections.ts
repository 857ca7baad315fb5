import { isJsonObject, type JsonObject } from "@patchbay/kit";
import { list, unknownMember, type Incoming, type Issued, str } from "./wire-format.ts";

const MEMBERS = ["contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"];

/** The first reason for which generateContent rejects a request, for mistakes that our client could make. */
export function geminiObjection({ body, path }: Incoming, issued: Issued): string | undefined {
  const unknown = unknownMember(body, MEMBERS);
  if (unknown) return `Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`;
  const newer = /models\/gemini-[3-9]/.test(path);
  return declarationsFault(declarationsOf(body)) ?? contentsFault(list(body["contents"]), newer, issued);
}

function declarationsFault(declarations: JsonObject[]): string | undefined {
  for (const [at, { name, parameters, parametersJsonSchema: schema }] of declarations.entries()) {
    const where = `GenerateContentRequest.tools[0].function_declarations[${at}]`;
    if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(str(name)))
      return `* ${where}.name: Invalid function name. Must start with a letter or an underscore.`;
    if (parameters !== undefined) return `* ${where}.parameters: exclusive with parameters_json_schema`;
    if (schema === undefined) continue;
    const properties = isJsonObject(schema) && isJsonObject(schema["properties"]) ? schema["properties"] : {};
    if (isJsonObject(schema) && schema["additionalProperties"] === undefined && Object.keys(properties).length === 0)
      return `* ${where}.parameters.properties: should be non-empty for OBJECT type`;
    if (isJsonObject(schema) && "$schema" in schema) return `* ${where}: unknown keyword $schema`;
  }
  return undefined;
}

function contentsFault(contents: JsonObject[], newer: boolean, issued: Issued): string | undefined {
  const turn = contents.findLastIndex(({ role, parts }) => role === "user" && responses(parts).length === 0);
  for (const [at, { role, parts }] of contents.entries()) {
    if (list(parts).length === 0)
      return `* GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.`;
    const calls = list(parts).filter((part) => "functionCall" in part);
    const answers = role === "model" ? responses(contents[at + 1]?.["parts"]) : [];
    if (answers.length !== calls.length)
      return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
    const mismatch = calls.findIndex(
      (call, i) => nameIn(call, "functionCall") !== nameIn(answers[i], "functionResponse"),
    );
    if (mismatch !== -1) return `Function response name does not match the function call name. Position ${at}.`;
    if (role === "user" && responses(parts).length > 0 && contents[at - 1]?.["role"] !== "model")
      return "Please ensure that function response turn comes immediately after a function call turn.";
    const [first] = calls;
    if (newer && at > turn && first && !signed(first, issued))
      return `Function call is missing a thought_signature in functionCall parts. Position ${at}.`;
  }
  return undefined;
}

function nameIn(part: JsonObject | undefined, member: "functionCall" | "functionResponse"): string {
  const held = part?.[member];
  return isJsonObject(held) ? str(held["name"]) : "";
}

function signed({ thoughtSignature }: JsonObject, issued: Issued): boolean {
  return issued.has(str(thoughtSignature)) || thoughtSignature === "skip_thought_signature_validator";
}

function responses(parts: JsonObject[string] | undefined): JsonObject[] {
  return list(parts).filter((part) => "functionResponse" in part);
}

export function declarationsOf(body: JsonObject): JsonObject[] {
  return list(body["tools"]).flatMap((tool) => list(tool["functionDeclarations"]));
}
