import { z } from "zod";
import { LIMITS } from "./limits.ts";
import { MODEL_NAME, PROVIDER_NAMES, ResponseSchema } from "./query.ts";

const modelName = z.string().regex(MODEL_NAME, "must be a model name");

/** A model that is tried when those before it fail; without a name, the default model of the provider. */
export const FallbackModel = z.strictObject({ provider: z.enum(PROVIDER_NAMES), model: modelName.optional() });
export type FallbackModel = z.infer<typeof FallbackModel>;

/** Members of a query that an agent can refuse. `model` covers the provider too. */
export const OVERRIDES = ["model", "temperature", "maxTokens", "fallback", "responseSchema"] as const;
export type Override = (typeof OVERRIDES)[number];

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
  maxCostUsd: z.number().positive().max(10_000).optional(),
  /** Members that a query may not set. */
  locked: z.array(z.enum(OVERRIDES)).optional(),
});
export type AgentSettings = z.infer<typeof AgentSettings>;
