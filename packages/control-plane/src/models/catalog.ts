import type { ChosenModel, ModelCatalog, ModelProvider } from "../ports/model-provider.ts";
import { createAnthropic, type AnthropicConfig } from "./anthropic.ts";
import { contextTokens } from "./capabilities.ts";
import { createGemini, type GeminiConfig } from "./gemini.ts";
import { createOpenaiChat } from "./openai-chat.ts";
import type { OpenaiConfig } from "./openai-config.ts";
import { createOpenaiResponses } from "./openai-responses.ts";
import type { ModelPrices } from "./price-file.ts";
import { createPrices } from "./prices.ts";

export interface ProviderConfig {
  anthropic?: AnthropicConfig;
  /** A compatible server of one's own may do without a key. */
  openai?: Partial<OpenaiConfig> & { api: "responses" | "chat" };
  gemini?: GeminiConfig;
  /** Takes part only as the default: a caller cannot name it. */
  offline?: ModelProvider;
  /** A provider chosen here wins over the order of keys; the model is that of the default provider. */
  default?: { provider?: string; model?: string };
  /** Prices of models in USD per million tokens, each in place of the shipped price. */
  prices?: ModelPrices;
}

interface Entry {
  provider: ModelProvider;
  model: string;
}

/** The SDKs want some key even where the server wants none. */
const NO_KEY = "none";

/** The configured providers. Nothing is loaded or connected before a model is first used. */
export function createModelCatalog(config: ProviderConfig): ModelCatalog {
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
  };

  function chosenModel(provider: ModelProvider, model: string): ChosenModel {
    return {
      provider,
      model,
      contextTokens: contextTokens(model),
      cost: (usage) => (provider === offline ? 0 : prices.cost(model, usage)),
    };
  }
}

/** The name that goes over the wire. Gemini's own pages write names as `models/...`, and its address has that part already. */
const wireModel = ({ name }: ModelProvider, model: string): string =>
  name === "gemini" ? model.replace(/^models\//, "") : model;

function openaiEntry({ api, apiKey = NO_KEY, baseUrl }: NonNullable<ProviderConfig["openai"]>): Entry {
  const config: OpenaiConfig = baseUrl === undefined ? { apiKey } : { apiKey, baseUrl };
  // The newest models take functions in Responses alone.
  return api === "chat"
    ? entryOf(createOpenaiChat(config), "gpt-4.1-mini")
    : entryOf(createOpenaiResponses(config), "gpt-6.1-terra");
}

const entryOf = (provider: ModelProvider, model: string): Entry => ({ provider, model });
