import { z } from "zod";
import { inexactMessage, inexactNumber, isJsonObject, parseJson, type JsonObject } from "@patchbay/kit";
import { FLOW_MODES } from "./flow.ts";
import { CALLERS, LIMITS, MODEL_NAME, OVERRIDES } from "./limits.ts";
import { ENDPOINT_NAME, PROVIDER_NAMES, REASONING } from "./providers.ts";
import { checkResponseSchema } from "@patchbay/schema";

/** A text with at most `maxUnits` UTF-16 units. Zod's own `max` counts code points, which allows twice as many units. */
export function textUpTo(maxUnits: number) {
  return z
    .string()
    .refine(({ length }) => length <= maxUnits, `must have at most ${maxUnits} UTF-16 units`)
    .meta({ maxLength: maxUnits });
}

/** Reads `null` and the empty string as absent, as the HTTP contract requires for optional properties. */
export function optional<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => (value === null || value === "" ? undefined : value), schema.optional());
}

const queryText = z
  .string()
  .transform((text) => text.trim())
  .pipe(textUpTo(LIMITS.queryUnits).min(1, "must not be empty"));

const label = optional(textUpTo(LIMITS.labelUnits));
/** A role as runs are stored with it: databases keep no NUL. */
export const queryRole = optional(
  textUpTo(LIMITS.labelUnits).refine((role) => !role.includes("\0"), "must not contain the character NUL"),
);
const maxTokens = z.int().min(1).max(LIMITS.maxTokens);

const modelName = optional(
  z
    .string()
    .regex(
      MODEL_NAME,
      "must be a model name: 1 to 200 letters, digits and ._:@/-, beginning with a letter or digit, without '..' and '//'",
    ),
);

/** A caller's provider and model for one query. The agent's settings apply to absent properties. */
export const LlmConfig = z.object({
  provider: z
    .enum(PROVIDER_NAMES)
    .describe(
      "The provider for the query's first model. One without a key ends the run with `provider_not_configured`.",
    ),
  model: modelName.describe(
    "One of the provider's models, at most 200 characters. Default: the agent's model if `provider` is the agent's, else the provider's default. 400 `model_not_allowed` if the agent's queries cannot choose it.",
  ),
  maxTokens: optional(maxTokens).describe(
    `Tokens in one model answer. Default: the agent's setting, else ${LIMITS.defaultMaxTokens}. An answer that needs more is cut: the run ends with \`output_limit\` if nothing usable is left.`,
  ),
  temperature: optional(z.number().min(0).max(2)).describe(
    "Randomness of the model's words. Default: the agent's setting, else the provider's.",
  ),
  reasoning: optional(z.enum(REASONING)).describe(
    "How much the model reasons before it answers; `warnings` says when it lacks the level. Default: the agent's setting, else the provider's. Reasoning counts as output.",
  ),
  fallback: optional(z.boolean()).describe(
    "`false` disables the agent's fallback models for this query. Default: true.",
  ),
});
export type LlmConfig = z.infer<typeof LlmConfig>;

/**
 * Parses `contextJson`, a JSON object as text. Drops properties named `__proto__`. Refuses a number that parsing would
 * change, because functions receive the context unchanged.
 */
export const ContextJson = z.string().transform((text, context): JsonObject => {
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

/** A JSON Schema for an answer that `checkResponseSchema` accepts. */
export const ResponseSchema = z.custom<JsonObject>().superRefine((schema, context) => {
  for (const { path, message } of checkResponseSchema(schema))
    context.addIssue({ code: "custom", path: [...path], message });
});

/** Without Intl, which loads language data: 5 MB that stay in every process with this module. */
const grouped = (count: number): string => String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");

/** Descriptions for the members that both query bodies have. */
const described = {
  query: `What the caller wants, in natural language: 1 to ${grouped(LIMITS.queryUnits)} UTF-16 units after trimming, else 400.`,
  thread:
    "The conversation to continue. Without it the query begins one. 400 if the agent has no such thread. At most 4 queries wait on a thread; a further one ends with `thread_busy`.",
  session: `Your name for the end user's session, at most ${LIMITS.labelUnits} UTF-16 units; thread lists can be filtered by it.`,
  role: `The role under which functions are called, at most ${LIMITS.labelUnits} UTF-16 units, compared character by character. Without it the service's default role applies, or only functions for everyone. 403 if the key is pinned to other roles.`,
  analysis: "True asks the model for a plan before its first call; the plan is an event `thought`. Default: false.",
  model: "The model for this query and its options. Default: the agent's settings.",
  schema:
    "JSON Schema 2020-12 that the answer meets: an object at the root, at most 65,536 bytes, 200 members and 10 nested objects and arrays, names of at most 64 characters, references of the form #/... only. Unknown keywords are ignored. 400 with the path of each fault; a run whose model writes no valid value ends with `output_invalid`.",
  supersede:
    "True cancels a run in the thread that waits for an approval, so that this query can run. Without it, a query on such a thread ends with `thread_busy`. Default: false.",
  deltas:
    "True adds live events to the stream: text parts as the model writes them, and function progress. Default: false.",
};

/** Body for the two query endpoints. Unknown properties are ignored, with a warning in the answer. */
export const QueryRequest = z.object({
  query: queryText.describe(described.query),
  threadId: optional(z.string()).describe(described.thread),
  sessionId: label.describe(described.session),
  role: queryRole.describe(described.role),
  contextJson: optional(ContextJson).describe(
    `Facts about the caller for the owner's code: a JSON object as text, at most ${LIMITS.contextBytes} bytes, with numbers that a 64-bit float keeps exactly. Anything else is answered with 400.`,
  ),
  analysisMode: optional(z.boolean()).describe(described.analysis),
  llmConfig: optional(LlmConfig).describe(described.model),
  responseSchema: optional(ResponseSchema).describe(described.schema),
  includeDeltas: optional(z.boolean()).describe(described.deltas),
  supersede: optional(z.boolean()).describe(described.supersede),
});
export type QueryRequest = z.infer<typeof QueryRequest>;

/** Query body in the local development variant. */
export const LocalQueryRequest = z.object({
  query: queryText.describe(described.query),
  max_tokens: optional(maxTokens).describe(
    `Tokens in one model answer. Default: the agent's setting, else ${LIMITS.localDefaultMaxTokens}. An answer that needs more is cut: the run ends with \`output_limit\` if nothing usable is left.`,
  ),
  role: queryRole.describe(`The role under which functions are called, at most ${LIMITS.labelUnits} UTF-16 units.`),
  analysis_mode: optional(z.boolean()).describe(described.analysis),
  thread_id: optional(z.string()).describe(described.thread),
  session_id: label.describe(described.session),
  context: optional(z.custom<JsonObject>(isJsonObject, "must be a JSON object")).describe(
    "Facts about the caller for the owner's code. Anything but an object is answered with 400.",
  ),
  llm_config: optional(LlmConfig).describe(described.model),
  response_schema: optional(ResponseSchema).describe(described.schema),
  include_deltas: optional(z.boolean()).describe(described.deltas),
  supersede: optional(z.boolean()).describe(described.supersede),
});
export type LocalQueryRequest = z.infer<typeof LocalQueryRequest>;

const requiredModelName = z.string().regex(MODEL_NAME, "must be a model name");

const endpointName = z.string().regex(ENDPOINT_NAME, "must be the name of a provider or endpoint");

/** A model to try when the previous ones fail. Without a name, the provider's default model. */
export const FallbackModel = z.strictObject({
  provider: endpointName,
  model: requiredModelName.optional(),
  /** Instead of the agent's, unless the query sets its own. */
  reasoning: z.enum(REASONING).optional(),
});
export type FallbackModel = z.infer<typeof FallbackModel>;

/** Agent settings for models, callers and data. The control plane's defaults apply to absent properties. */
export const AgentSettings = z.strictObject({
  /** A provider, or an endpoint by its name. */
  provider: endpointName.optional(),
  model: requiredModelName.optional(),
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.int().min(1).max(LIMITS.maxTokens).optional(),
  reasoning: z.enum(REASONING).optional(),
  /** Number of turns with function calls before the model must answer. */
  steps: z.int().min(1).max(100).optional(),
  fallback: z.array(FallbackModel).max(5).optional(),
  /** Tokens from a thread's earlier runs that the model receives. */
  historyTokens: z.int().min(1_000).max(1_000_000).optional(),
  /** A JSON Schema for every answer. */
  responseSchema: ResponseSchema.optional(),
  maxCostUsd: z.number().min(0.000001).max(10_000).optional(),
  /** Properties that a query may not set. */
  locked: z.array(z.enum(OVERRIDES)).optional(),
  /** With `required`, every request with an agent key needs its caller's token. */
  callers: z.enum(CALLERS).optional(),
  /** Claims of callers' tokens that the owner's code receives. */
  callerClaims: z.array(z.string().min(1).max(LIMITS.labelUnits)).max(20).optional(),
  /** What happens to calls that data-flow rules do not allow, where a service's own mode is milder. */
  flows: z.enum(FLOW_MODES).optional(),
  /** Days after their end for which runs are kept. The control plane's own limit also applies. */
  retentionDays: z.int().min(1).max(36_500).optional(),
});
export type AgentSettings = z.infer<typeof AgentSettings>;

type Shape = typeof AgentSettings.shape;
type Clearable = { [Name in keyof Shape]: z.ZodNullable<Shape[Name]> };
const clearable = Object.entries(AgentSettings.shape).map(([name, schema]) => [name, schema.nullable()]);

/** A settings change. `null` clears a property, and an absent property keeps its value. */
export const AgentSettingsChange = z.strictObject(Object.fromEntries(clearable) as Clearable);
export type AgentSettingsChange = z.infer<typeof AgentSettingsChange>;

/** Applies a change to settings. An empty list clears a property. */
export function applySettingsChange(settings: AgentSettings, change: AgentSettingsChange): AgentSettings {
  const entries = Object.entries({ ...settings, ...change });
  const isSet = (value: unknown) =>
    value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(entries.filter(([, value]) => isSet(value)));
}
