import { isDeepStrictEqual } from "node:util";
import { LIMITS, type AgentSettings, type Fault, type Override } from "@patchbay/protocol";
import type { ChosenModel, ModelCatalog } from "../ports/model-provider.ts";
import type { RunRequest } from "../ports/records.ts";
import { invalid, type ServiceError } from "../ports/service-error.ts";
import type { Query } from "./api.ts";
import { hasPrice } from "./hold.ts";
import { type RunFailure, uncappableModel, unpricedModel } from "./run-failure.ts";

/** How a run asks its model: as the query says, else as its agent does, else by the service's defaults. */
export interface Settled {
  /** Each member is left to the operator's default where it is absent. */
  wanted: { provider?: string; model?: string };
  fallback: NonNullable<AgentSettings["fallback"]>;
  request: Pick<
    RunRequest,
    "maxTokens" | "temperature" | "steps" | "historyTokens" | "responseSchema" | "maxCostMicros"
  >;
}

/** Settles each member by itself. A function that is tried by hand has no model, so that no setting concerns it. */
export function settle(query: Query, ofAgent: AgentSettings, models: ModelCatalog): Settled {
  const settings = query.trial ? {} : ofAgent;
  const { llm, defaultMaxTokens = LIMITS.defaultMaxTokens } = query;
  const temperature = llm?.temperature ?? settings.temperature;
  const responseSchema = query.responseSchema ?? settings.responseSchema;
  const { steps, historyTokens, maxCostUsd } = settings;
  return {
    wanted: wantedModel(query, settings, models),
    fallback: llm?.fallback === false ? [] : (settings.fallback ?? []),
    request: {
      maxTokens: query.maxTokens ?? settings.maxTokens ?? defaultMaxTokens,
      ...(temperature !== undefined && { temperature }),
      ...(steps !== undefined && { steps }),
      ...(historyTokens !== undefined && { historyTokens }),
      ...(responseSchema !== undefined && { responseSchema }),
      ...(maxCostUsd !== undefined && { maxCostMicros: Math.round(maxCostUsd * 1_000_000) }),
    },
  };
}

/**
 * A model belongs to its provider: the agent's model answers a query that names a provider only where that is the agent's. An agent
 * without one has the service's default, which a query names that sets `maxTokens` and nothing else.
 */
function wantedModel({ llm }: Query, settings: AgentSettings, models: ModelCatalog): Settled["wanted"] {
  const provider = llm?.provider ?? settings.provider;
  const isOfAgent = llm === undefined || llm.provider === (settings.provider ?? providerOf(models.choose()));
  const model = llm?.model ?? (isOfAgent ? settings.model : undefined);
  return { ...(provider !== undefined && { provider }), ...(model !== undefined && { model }) };
}

/** The refusal of a query that changes what its agent keeps to itself. A value that holds without the query changes nothing. */
export function refusedOverrides(
  query: Query,
  settings: AgentSettings,
  models: ModelCatalog,
): ServiceError | undefined {
  const locked = new Set<Override>(settings.locked);
  if (locked.size === 0 || query.trial) return undefined;
  const { llm, maxTokens, responseSchema } = query;
  const { query: text, analysisMode, defaultMaxTokens = LIMITS.defaultMaxTokens } = query;
  const { wanted, request } = settle({ query: text, analysisMode, defaultMaxTokens }, settings, models);
  const faults: Fault[] = [];
  const refuse = (path: string) => faults.push({ path, message: "cannot be changed by queries of this agent" });

  if (locked.has("model") && llm) {
    const own = models.choose(wanted);
    const provider = providerOf(own);
    if (llm.provider !== provider) refuse("llmConfig.provider");
    else if (llm.model !== undefined && llm.model !== wanted.model) {
      // One model may have two names on one wire, as `models/...` of Gemini.
      if (!isSame(models.choose({ provider, model: llm.model }), own)) refuse("llmConfig.model");
    }
  }
  const modelFaults = faults.length;
  if (locked.has("temperature") && llm?.temperature !== undefined && llm.temperature !== request.temperature)
    refuse("llmConfig.temperature");
  // The local variant takes it outside of `llm_config`, too.
  if (locked.has("maxTokens") && maxTokens !== undefined && maxTokens !== request.maxTokens)
    refuse(llm?.maxTokens === maxTokens ? "llmConfig.maxTokens" : "max_tokens");
  if (locked.has("fallback") && llm?.fallback === false && settings.fallback) refuse("llmConfig.fallback");
  if (locked.has("responseSchema") && responseSchema && !isDeepStrictEqual(responseSchema, request.responseSchema))
    refuse("responseSchema");
  if (faults.length === 0) return undefined;
  return invalid(faults, { code: faults.length === modelFaults ? "model_not_allowed" : "invalid_request" });
}

type Choice = ReturnType<ModelCatalog["choose"]>;

const providerOf = (choice: Choice): string => ("missing" in choice ? choice.missing : choice.provider.name);

const isSame = (one: Choice, other: Choice): boolean =>
  "model" in one && "model" in other && one.provider.name === other.provider.name && one.model === other.model;

/** The models that stand in for the chosen one, in their order, and why others of the agent's list do not. */
export function fallbackModels(
  { fallback }: Settled,
  chosen: ChosenModel,
  { models, needsPrice }: { models: ModelCatalog; needsPrice: boolean },
): { models: NonNullable<RunRequest["fallback"]>; warnings: string[] } {
  const usable: ChosenModel[] = [];
  const warnings: string[] = [];
  for (const { provider, model } of fallback) {
    const one = models.choose({ provider, ...(model !== undefined && { model }) });
    if ("missing" in one) warnings.push(`Fallback provider ${one.missing} is not configured and was left out`);
    else if (needsPrice && !hasPrice(one))
      warnings.push(`Fallback model ${one.model} has no known price and was left out`);
    else if (![chosen, ...usable].some((known) => isSame(known, one))) usable.push(one);
  }
  return { models: usable.map(({ provider, model }) => ({ provider: provider.name, model })), warnings };
}

/** The refusal of a model without a price, where its turns are charged or counted against a cost cap. */
export function withoutPrice(
  chosen: ChosenModel,
  { pays, capMicros }: { pays: boolean; capMicros: number | undefined },
): RunFailure | undefined {
  if (hasPrice(chosen)) return undefined;
  if (pays) return unpricedModel(chosen.model);
  return capMicros === undefined ? undefined : uncappableModel(chosen.model, capMicros);
}
