import { z } from "zod";
import { inexactMessage, inexactNumber, isJsonObject, parseJson, type JsonObject } from "./json.ts";
import { LIMITS, MODEL_NAME, OVERRIDES, PROVIDER_NAMES } from "./limits.ts";
import { checkResponseSchema } from "./response-schema/check.ts";

/** A text of at most `maxUnits` UTF-16 units. Zod's own `max` counts code points, which allows twice as many units. */
function textUpTo(maxUnits: number) {
  return z
    .string()
    .refine(({ length }) => length <= maxUnits, `must have at most ${maxUnits} UTF-16 units`)
    .meta({ maxLength: maxUnits });
}

/** Reads `null` and the empty string as absent, as the HTTP contract requires for optional properties. */
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

/** A caller's choice of provider and model for one query. The agent's settings apply to absent properties. */
export const LlmConfig = z.object({
  provider: z.enum(PROVIDER_NAMES),
  model: modelName,
  maxTokens: optional(maxTokens),
  temperature: optional(z.number().min(0).max(2)),
  /** False disables the agent's fallback models. */
  fallback: optional(z.boolean()),
});
export type LlmConfig = z.infer<typeof LlmConfig>;

/**
 * Parses `contextJson`: the text of a JSON object. Drops properties named `__proto__`. Refuses a number that parsing would change,
 * because functions receive the context unchanged.
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

/** A JSON Schema of an answer that `checkResponseSchema` accepts. */
export const ResponseSchema = z.custom<JsonObject>().superRefine((schema, context) => {
  for (const { path, message } of checkResponseSchema(schema))
    context.addIssue({ code: "custom", path: [...path], message });
});

/** Body of the two query endpoints. Unknown properties are ignored. */
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

/** Body of a query in the local development variant. */
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

const requiredModelName = z.string().regex(MODEL_NAME, "must be a model name");

/** A model to try when those before it fail. Without a name, the default model of the provider. */
export const FallbackModel = z.strictObject({ provider: z.enum(PROVIDER_NAMES), model: requiredModelName.optional() });
export type FallbackModel = z.infer<typeof FallbackModel>;

/** Model settings of an agent's runs. The control plane's defaults apply to absent properties. */
export const AgentSettings = z.strictObject({
  provider: z.enum(PROVIDER_NAMES).optional(),
  model: requiredModelName.optional(),
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.int().min(1).max(LIMITS.maxTokens).optional(),
  /** Number of turns with function calls before the model must answer. */
  steps: z.int().min(1).max(100).optional(),
  fallback: z.array(FallbackModel).max(5).optional(),
  /** Tokens of a thread's earlier runs that the model receives. */
  historyTokens: z.int().min(1_000).max(1_000_000).optional(),
  /** A JSON Schema for every answer. */
  responseSchema: ResponseSchema.optional(),
  maxCostUsd: z.number().min(0.000001).max(10_000).optional(),
  /** Properties that a query may not set. */
  locked: z.array(z.enum(OVERRIDES)).optional(),
});
export type AgentSettings = z.infer<typeof AgentSettings>;

const { shape } = AgentSettings;

/** A change of settings. `null` clears a property, and an absent property keeps its value. */
export const AgentSettingsChange = z.strictObject({
  provider: shape.provider.nullable(),
  model: shape.model.nullable(),
  temperature: shape.temperature.nullable(),
  maxTokens: shape.maxTokens.nullable(),
  steps: shape.steps.nullable(),
  fallback: shape.fallback.nullable(),
  historyTokens: shape.historyTokens.nullable(),
  responseSchema: shape.responseSchema.nullable(),
  maxCostUsd: shape.maxCostUsd.nullable(),
  locked: shape.locked.nullable(),
} satisfies Record<keyof AgentSettings, z.ZodType>);
export type AgentSettingsChange = z.infer<typeof AgentSettingsChange>;

/** Applies a change to settings. An empty list clears a property. */
export function applySettingsChange(settings: AgentSettings, change: AgentSettingsChange): AgentSettings {
  const entries = Object.entries({ ...settings, ...change });
  const isSet = (value: unknown) =>
    value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(entries.filter(([, value]) => isSet(value)));
}
