import { z } from "zod";
import { LIMITS } from "./limits.ts";
import { MODEL_NAME, OVERRIDES, PROVIDER_NAMES } from "./names.ts";
import { ResponseSchema } from "./query.ts";

const modelName = z.string().regex(MODEL_NAME, "must be a model name");

/** A model that is tried when those before it fail; without a name, the default model of the provider. */
export const FallbackModel = z.strictObject({ provider: z.enum(PROVIDER_NAMES), model: modelName.optional() });
export type FallbackModel = z.infer<typeof FallbackModel>;

/** How the runs of an agent ask their model. What is left out has the service's default. */
export const AgentSettings = z.strictObject({
  provider: z.enum(PROVIDER_NAMES).optional(),
  model: modelName.optional(),
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.int().min(1).max(LIMITS.maxTokens).optional(),
  /** Turns with function calls before the model must answer. */
  steps: z.int().min(1).max(100).optional(),
  fallback: z.array(FallbackModel).max(5).optional(),
  /** Tokens of a thread's earlier runs that the model is sent. */
  historyTokens: z.int().min(1_000).max(1_000_000).optional(),
  /** A JSON Schema that every answer meets. */
  responseSchema: ResponseSchema.optional(),
  maxCostUsd: z.number().min(0.000001).max(10_000).optional(),
  /** Members that a query may not set. */
  locked: z.array(z.enum(OVERRIDES)).optional(),
});
export type AgentSettings = z.infer<typeof AgentSettings>;

const { shape } = AgentSettings;

/** A change of settings: `null` clears a member, and one that is left out stays. */
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

/** The settings after a change. An empty list counts as cleared. */
export function changedSettings(settings: AgentSettings, change: AgentSettingsChange): AgentSettings {
  const members = Object.entries({ ...settings, ...change });
  const isSet = (value: unknown) =>
    value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(members.filter(([, value]) => isSet(value)));
}
