import { z } from "zod";
import { inexactNumber } from "./exact-numbers.ts";
import { isJsonObject, type JsonObject } from "./json.ts";
import { LIMITS } from "./limits.ts";
import { MODEL_NAME, PROVIDER_NAMES } from "./names.ts";
import { checkResponseSchema } from "./response-schema/check.ts";
import { textUpTo } from "./text.ts";

/** `null` and the empty string count as absent, as the contract says of optional members. */
function optional<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => (value === null || value === "" ? undefined : value), schema.optional());
}

const queryText = z
  .string()
  .transform((text) => text.trim())
  .pipe(textUpTo(LIMITS.queryUnits).min(1, "must not be empty"));

const label = optional(textUpTo(LIMITS.labelUnits));
const maxTokens = z.int().min(1).max(LIMITS.maxTokens);

const modelName = optional(
  z
    .string()
    .regex(
      MODEL_NAME,
      "must be a model name: 1 to 200 letters, digits and ._:@/-, beginning with a letter or digit, without '..' and '//'",
    ),
);

/** A caller's choice of provider and model for one query. What it leaves out is as the agent's settings say. */
export const LlmConfig = z.object({
  provider: z.enum(PROVIDER_NAMES),
  model: modelName,
  maxTokens: optional(maxTokens),
  temperature: optional(z.number().min(0).max(2)),
  /** False leaves the agent's fallback models out. */
  fallback: optional(z.boolean()),
});
export type LlmConfig = z.infer<typeof LlmConfig>;

/**
 * Parses `contextJson`: the text of a JSON object. Members named `__proto__` are dropped. Functions get the context as it was
 * sent, so a number that reading would change is refused.
 */
const contextText = z.string().transform((text, context): JsonObject => {
  const fault = (message: string): never => {
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  };
  if (new TextEncoder().encode(text).byteLength > LIMITS.contextBytes)
    return fault(`must have at most ${LIMITS.contextBytes} bytes`);
  const parsed = parseJson(text);
  if (!parsed.ok) return fault(parsed.message);
  if (!isJsonObject(parsed.value)) return fault("must hold a JSON object");
  const inexact = inexactNumber(text);
  if (inexact !== undefined) return fault(inexactMessage(inexact));
  return parsed.value;
});

/** Says that a number of a context cannot be handed on as it was sent; lacks its subject, as messages of `parseJson` do. */
export function inexactMessage(number: string): string {
  return `holds the number ${number}, which JSON readers cannot keep exactly. Send it as a string`;
}

/** The JSON Schema of an answer, as far as `checkResponseSchema` takes it. */
export const ResponseSchema = z.custom<JsonObject>().superRefine((schema, context) => {
  for (const { path, message } of checkResponseSchema(schema))
    context.addIssue({ code: "custom", path: [...path], message });
});

/** Body of the two query endpoints. Unknown members are ignored. */
export const QueryRequest = z.object({
  query: queryText,
  threadId: optional(z.string()),
  sessionId: label,
  role: label,
  contextJson: optional(contextText),
  analysisMode: optional(z.boolean()),
  llmConfig: optional(LlmConfig),
  responseSchema: optional(ResponseSchema),
  includeDeltas: optional(z.boolean()),
});
export type QueryRequest = z.infer<typeof QueryRequest>;

/** Body of the local development variant. */
export const LocalQueryRequest = z.object({
  query: queryText,
  max_tokens: optional(maxTokens),
  role: label,
  analysis_mode: optional(z.boolean()),
  thread_id: optional(z.string()),
  session_id: label,
  context: optional(z.custom<JsonObject>(isJsonObject, "must be a JSON object")),
  llm_config: optional(LlmConfig),
  response_schema: optional(ResponseSchema),
  include_deltas: optional(z.boolean()),
});
export type LocalQueryRequest = z.infer<typeof LocalQueryRequest>;

/** What `parseJson` made of a text; `message` is public and lacks its subject, such as "is not valid JSON". */
export type ParsedJson = { ok: true; value: unknown } | { ok: false; message: string };

/** Parses text as JSON without throwing; drops `__proto__` members and refuses nesting deeper than `maxDepth`. */
export function parseJson(text: string, maxDepth: number = LIMITS.jsonDepth): ParsedJson {
  if (nestsDeeper(text, maxDepth)) return { ok: false, message: `must not nest deeper than ${maxDepth}` };
  try {
    const value: unknown =
      text.includes("__proto__") || text.includes("\\u")
        ? JSON.parse(text, (key, member: unknown) => (key === "__proto__" ? undefined : member))
        : JSON.parse(text);
    return { ok: true, value };
  } catch {
    return { ok: false, message: "is not valid JSON" };
  }
}

/** Counts brackets outside strings; text that is no JSON may be misjudged, which the parser then refuses anyway. */
export function nestsDeeper(text: string, limit: number): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 34) i = endOfString(text, i + 1);
    else if (unit === 123 || unit === 91) {
      if (++depth > limit) return true;
    } else if (unit === 125 || unit === 93) depth--;
  }
  return false;
}

/** Where the quote stands that ends a string: the next one before which stands an even number of backslashes. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = at;
    while (before > start && text.charCodeAt(before - 1) === 92) before--;
    if ((at - before) % 2 === 0) return at;
  }
  return text.length;
}
