import { isDeepStrictEqual } from "node:util";
import { type AgentSettings, type Fault, LIMITS, type Override } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { ChosenModel, ModelCatalog, ModelProvider, ModelTurn } from "../../ports/model-provider.ts";
import type { RunRequest, TestCall } from "../../ports/records.ts";
import { invalid, type ServiceError } from "../../ports/service-error.ts";
import type { Query } from "../api.ts";
import { hasPrice } from "../loop/cost.ts";
import { type RunFailure, uncappableModel, unpricedModel } from "../run-failure.ts";

/** How a run asks its model: by the query, else by the agent's settings, else by the defaults. */
export interface Settled {
  /** An absent property means the operator's default. */
  wanted: { provider?: string; model?: string };
  fallback: NonNullable<AgentSettings["fallback"]>;
  request: Pick<
    RunRequest,
    "maxTokens" | "temperature" | "reasoning" | "steps" | "historyTokens" | "responseSchema" | "maxCostMicros" | "flows"
  >;
}

/** Decides each setting independently. A test call has no model, so the agent's settings do not apply to it. */
export function settle(query: Query, ofAgent: AgentSettings, models: ModelCatalog): Settled {
  if (query.repeats) return settledAs(query.repeats.request);
  const settings = query.testCall ? {} : ofAgent;
  const { llm, defaultMaxTokens = LIMITS.defaultMaxTokens } = query;
  const temperature = query.temperature ?? llm?.temperature ?? settings.temperature;
  const ownReasoning = query.reasoning ?? llm?.reasoning;
  const reasoning = ownReasoning ?? settings.reasoning;
  const fallback = llm?.fallback === false ? [] : (settings.fallback ?? []);
  const responseSchema = query.responseSchema ?? (query.task ? undefined : settings.responseSchema);
  const { steps, historyTokens, maxCostUsd, flows } = settings;
  return {
    wanted: wantedModel(query, settings, models),
    fallback: ownReasoning === undefined ? fallback : fallback.map((model) => ({ ...model, reasoning: undefined })),
    request: {
      maxTokens: query.maxTokens ?? settings.maxTokens ?? defaultMaxTokens,
      ...present({ temperature, reasoning, steps, historyTokens, responseSchema, flows }),
      ...(maxCostUsd !== undefined && { maxCostMicros: Math.round(maxCostUsd * 1_000_000) }),
    },
  };
}

/** An earlier run's settings. */
function settledAs({ provider, model, fallback = [], ...request }: RunRequest): Settled {
  const { maxTokens, temperature, reasoning, steps, historyTokens, responseSchema, maxCostMicros, flows } = request;
  return {
    wanted: { ...(provider !== "" && { provider }), ...(model !== "" && { model }) },
    fallback: fallback as Settled["fallback"],
    request: {
      maxTokens,
      ...present({ temperature, reasoning, steps, historyTokens, responseSchema, maxCostMicros, flows }),
    },
  };
}

/**
 * A model belongs to its provider: the agent's model applies to a query that names a provider only when it is the agent's provider.
 * An agent without a provider uses the default provider.
 */
function wantedModel({ llm }: Query, settings: AgentSettings, models: ModelCatalog): Settled["wanted"] {
  // The agent may use an endpoint of the provider that the query names.
  const isOfAgent =
    llm === undefined || llm.provider === familyOf(models.choose(present({ provider: settings.provider })));
  const provider = isOfAgent ? settings.provider : llm.provider;
  const model = llm?.model ?? (isOfAgent ? settings.model : undefined);
  return { ...present({ provider, model }) };
}

/** The error for a query that changes its agent's locked setting. A value that applies anyway changes nothing. */
export function refusedOverrides(
  query: Query,
  settings: AgentSettings,
  models: ModelCatalog,
): ServiceError | undefined {
  const locked = new Set<Override>(settings.locked);
  if (locked.size === 0 || query.testCall) return undefined;
  const { llm, maxTokens, responseSchema } = query;
  const { query: text, analysisMode, defaultMaxTokens = LIMITS.defaultMaxTokens } = query;
  const { wanted, request } = settle({ query: text, analysisMode, defaultMaxTokens }, settings, models);
  const faults: Fault[] = [];
  const refuse = (path: string) => faults.push({ path, message: "cannot be changed by queries of this agent" });

  if (locked.has("model") && llm) {
    const own = models.choose(wanted);
    const provider = "missing" in own ? own.missing : own.provider.name;
    if (llm.provider !== familyOf(models.choose(present({ provider: wanted.provider })))) refuse("llmConfig.provider");
    else if (llm.model !== undefined && llm.model !== wanted.model) {
      // A model may have two names, such as Gemini's `models/...`.
      if (!isSame(models.choose({ provider, model: llm.model }), own)) refuse("llmConfig.model");
    }
  }
  const modelFaults = faults.length;
  // Some endpoints accept the next three outside `llmConfig`.
  const temperature = query.temperature ?? llm?.temperature;
  if (locked.has("temperature") && temperature !== undefined && temperature !== request.temperature)
    refuse(llm?.temperature === temperature ? "llmConfig.temperature" : "temperature");
  const reasoning = query.reasoning ?? llm?.reasoning;
  if (locked.has("reasoning") && reasoning !== undefined && reasoning !== request.reasoning)
    refuse(llm?.reasoning === reasoning ? "llmConfig.reasoning" : "reasoning_effort");
  if (locked.has("maxTokens") && maxTokens !== undefined && maxTokens !== request.maxTokens)
    refuse(llm?.maxTokens === maxTokens ? "llmConfig.maxTokens" : "max_tokens");
  if (locked.has("fallback") && llm?.fallback === false && settings.fallback) refuse("llmConfig.fallback");
  if (locked.has("responseSchema") && responseSchema && !isDeepStrictEqual(responseSchema, request.responseSchema))
    refuse("responseSchema");
  if (faults.length === 0) return undefined;
  return invalid(faults, { code: faults.length === modelFaults ? "model_not_allowed" : "invalid_request" });
}

type Choice = ReturnType<ModelCatalog["choose"]>;

const familyOf = (choice: Choice): string =>
  "missing" in choice ? choice.missing : (choice.provider.family ?? choice.provider.name);

const isSame = (one: Choice, other: Choice): boolean =>
  "model" in one && "model" in other && one.provider.name === other.provider.name && one.model === other.model;

/** A run's fallback models, in order, and a warning for each one in the agent's list that cannot be used. */
export function fallbackModels(
  { fallback }: Settled,
  chosen: ChosenModel,
  { models: catalog, needsPrice }: { models: ModelCatalog; needsPrice: boolean },
): { models: NonNullable<RunRequest["fallback"]>; warnings: string[] } {
  const usable: ChosenModel[] = [];
  const warnings: string[] = [];
  for (const { provider, model, reasoning } of fallback) {
    const one = catalog.choose({ provider, ...present({ model }) });
    if ("models" in one) warnings.push(`Fallback model ${provider}/${model} is not offered and was left out`);
    else if ("missing" in one) warnings.push(`Fallback provider ${one.missing} is not configured and was left out`);
    else if (needsPrice && !hasPrice(one))
      warnings.push(`Fallback model ${one.model} has no known price and was left out`);
    else if (![chosen, ...usable].some((known) => isSame(known, one))) usable.push({ ...one, reasoning });
  }
  const models = usable.map(({ provider, model, reasoning }) => {
    return { provider: provider.name, model, ...present({ reasoning }) };
  });
  return { models, warnings };
}

/** The error for a model without a price when its turns are charged or count towards a cost cap. */
export function withoutPrice(
  chosen: ChosenModel,
  { pays, capMicros }: { pays: boolean; capMicros: number | undefined },
): RunFailure | undefined {
  if (hasPrice(chosen)) return undefined;
  if (pays) return unpricedModel(chosen.model);
  return capMicros === undefined ? undefined : uncappableModel(chosen.model, capMicros);
}

/** The provider's name in stored runs. No catalog has it, so that no query can name it. */
export const TEST_CALL = "test_call";

/**
 * A test call's model: its first turn asks for the call, its second ends the run. The call follows the same path as one
 * from a real model, access checks and redaction included. Costs nothing.
 */
export function testCallModel(call: TestCall): ChosenModel {
  return { provider: testCallProvider(call), model: TEST_CALL, cost: () => 0 };
}

function testCallProvider({ functionName, arguments: input }: TestCall): ModelProvider {
  return {
    name: TEST_CALL,
    async *stream({ messages }, { signal }) {
      signal.throwIfAborted();
      const called = messages.at(-1)?.role === "results";
      const call = { id: "test_1", name: functionName, arguments: JSON.stringify(input) };
      const turn: ModelTurn = {
        text: called ? `${functionName} was called.` : "",
        thoughts: [],
        calls: called ? [] : [call],
        stop: called ? "stop" : "calls",
        usage: { input: 0, cachedInput: 0, output: 0 },
        model: TEST_CALL,
      };
      yield { type: "end", turn };
    },
  };
}
