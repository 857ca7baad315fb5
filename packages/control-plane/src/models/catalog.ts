import type {
  ChosenModel,
  ConfiguredProvider,
  ModelCatalog,
  ModelProvider,
  ProviderList,
} from "../ports/model-provider.ts";
import { type AnthropicConfig, createAnthropic } from "./anthropic.ts";
import { contextTokens } from "./capabilities.ts";
import { createGemini, type GeminiConfig } from "./gemini.ts";
import { createOpenaiChat } from "./openai-chat.ts";
import type { OpenaiConfig } from "./openai-config.ts";
import { createOpenaiResponses } from "./openai-responses.ts";
import { createPrices, type ModelPrices } from "./prices.ts";

export interface ProviderConfig {
  anthropic?: AnthropicConfig;
  /** A compatible server may need no key. */
  openai?: Partial<OpenaiConfig> & { api: "responses" | "chat" };
  gemini?: GeminiConfig;
  /** Used only as the default: callers cannot choose it. */
  offline?: ModelProvider;
  /** Takes precedence over the order of keys. `model` belongs to this provider. */
  default?: { provider?: string; model?: string };
  /** Prices of models in USD per million tokens, each in place of the shipped price. */
  prices?: ModelPrices;
}

type ListedCatalog = ModelCatalog & ProviderList;

interface Entry {
  provider: ModelProvider;
  model: string;
}

/** The SDKs require a key even if the server does not. */
const NO_KEY = "none";

/** The configured providers. Nothing is loaded or connected before a model is first used. */
export function createModelCatalog(config: ProviderConfig): ListedCatalog {
  const entries = new Map<string, Entry>();
  const { anthropic, openai, gemini, offline } = config;
  if (anthropic) entries.set("anthropic", entryOf(createAnthropic(anthropic), "claude-sonnet-5-5"));
  if (openai?.apiKey || openai?.baseUrl) entries.set("openai", openaiEntry(openai));
  if (gemini) entries.set("gemini", entryOf(createGemini(gemini), "gemini-3.8-flash"));

  const prices = createPrices(config.prices);
  const fallback = config.default?.provider ?? entries.keys().next().value ?? (offline ? offline.name : undefined);
  if (offline && fallback === offline.name) entries.set(offline.name, entryOf(offline, offline.name));
  const chosen = fallback === undefined ? undefined : entries.get(fallback);
  if (chosen && config.default?.model) chosen.model = config.default.model;

  return {
    choose(wanted = {}) {
      const name = wanted.provider ?? fallback;
      const entry = name === undefined ? undefined : entries.get(name);
      if (!entry) return { missing: name ?? "none" };
      return chosenModel(entry.provider, wireModel(entry.provider, wanted.model ?? entry.model));
    },
    providers: () =>
      [...entries.values()]
        .filter(({ provider }) => provider !== offline)
        .map(({ provider: { name }, model }) => ({ name, model, priced: pricedModels(name) })),
  };

  /** A compatible server has none of OpenAI's models, but those that the operator priced. */
  function pricedModels(name: string): ConfiguredProvider["priced"] {
    const known = name === "openai" && openai?.baseUrl ? Object.keys(config.prices ?? {}) : prices.models();
    return known
      .filter((model) => makerOf(model) === name)
      .toSorted()
      .flatMap((model) => prices.today(model) ?? []);
  }

  function chosenModel(provider: ModelProvider, model: string): ChosenModel {
    return {
      provider,
      model,
      contextTokens: contextTokens(model),
      cost: (usage) => (provider === offline ? 0 : prices.cost(model, usage)),
    };
  }
}

/** The provider of a priced model. Names of no maker are those of servers that are compatible with OpenAI's. */
function makerOf(model: string): string {
  if (/\bclaude-/.test(model)) return "anthropic";
  return /\bgemini-/.test(model) ? "gemini" : "openai";
}

/** The name that goes over the wire. Gemini's own pages write names as `models/...`, and its address has that part already. */
const wireModel = ({ name }: ModelProvider, model: string): string =>
  name === "gemini" ? model.replace(/^models\//, "") : model;

function openaiEntry({ api, apiKey = NO_KEY, baseUrl }: NonNullable<ProviderConfig["openai"]>): Entry {
  const config: OpenaiConfig = baseUrl === undefined ? { apiKey } : { apiKey, baseUrl };
  // The newest models accept functions only in Responses.
  return api === "chat"
    ? entryOf(createOpenaiChat(config), "gpt-4.1-mini")
    : entryOf(createOpenaiResponses(config), "gpt-6.1-terra");
}

const entryOf = (provider: ModelProvider, model: string): Entry => ({ provider, model });

/** Puts a model of the embedding program before the configured ones. Its turns are free. */
export function withOwnModel(configured: ListedCatalog, provider: ModelProvider): ListedCatalog {
  const own: ChosenModel = { provider, model: provider.name, cost: () => 0 };
  return {
    choose(wanted = {}) {
      return wanted.provider === undefined || wanted.provider === provider.name ? own : configured.choose(wanted);
    },
    providers: () => configured.providers(),
  };
}

/** The same models with wrapped providers. Each provider is wrapped once and keeps its name, because runs find it by name. */
export function wrappedModels(catalog: ListedCatalog, wrap: (provider: ModelProvider) => ModelProvider): ListedCatalog {
  const wrapped = new Map<ModelProvider, ModelProvider>();
  return {
    choose(wanted) {
      const chosen = catalog.choose(wanted);
      if ("missing" in chosen) return chosen;
      let provider = wrapped.get(chosen.provider);
      if (!provider) wrapped.set(chosen.provider, (provider = named(chosen.provider.name, wrap(chosen.provider))));
      return { ...chosen, provider };
    },
    providers: () => catalog.providers(),
  };
}

function named(name: string, provider: ModelProvider): ModelProvider {
  return { name, stream: (request, options) => provider.stream(request, options) };
}
