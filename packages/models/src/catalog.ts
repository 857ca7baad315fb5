import type {
  ChosenModel,
  ConfiguredProvider,
  ModelCatalog,
  ModelProvider,
  ProviderList,
} from "@patchbay/engine/ports/model-provider";
import { PROVIDER_NAMES } from "@patchbay/protocol/providers";
import { contextTokens, mostFunctions } from "./capabilities.ts";
import { createProfile } from "./profiles.ts";
import { createPrices, type ModelPrices } from "./prices.ts";
import { type Accounts, WIRES, type Wire } from "./providers.ts";

export interface ProviderConfig extends Accounts {
  /** Used only as the default: callers cannot choose it. */
  offline?: ModelProvider;
  /** Takes precedence over the key order. `model` belongs to this provider. */
  default?: { provider?: string; model?: string };
  /** Model prices in USD per million tokens, each replacing the shipped price. */
  prices?: ModelPrices;
}

type ListedCatalog = ModelCatalog & ProviderList;

interface Entry {
  provider: ModelProvider;
  model: string;
  wire?: Wire<never>;
  maxFunctions?: number | undefined;
}

/** The configured providers. Nothing is loaded or connected before a model is first used. */
export function createModelCatalog(config: ProviderConfig): ListedCatalog {
  const entries = new Map<string, Entry>();
  const { offline } = config;
  for (const name of PROVIDER_NAMES) {
    const account = config[name];
    const wire: Wire<never> = WIRES[name];
    const profile = account && createProfile(account);
    const provider = profile && wire.create(account as never, profile);
    const model = provider && wire.defaultModel(account as never);
    if (provider && model) entries.set(name, { provider, model, wire, maxFunctions: profile.maxTools });
  }

  const prices = createPrices(config.prices);
  const fallback = config.default?.provider ?? entries.keys().next().value ?? (offline ? offline.name : undefined);
  if (offline && fallback === offline.name) entries.set(offline.name, { provider: offline, model: offline.name });
  const chosen = fallback === undefined ? undefined : entries.get(fallback);
  if (chosen && config.default?.model) chosen.model = config.default.model;

  return {
    choose(wanted = {}) {
      const name = wanted.provider ?? fallback;
      const entry = name === undefined ? undefined : entries.get(name);
      if (!entry) return { missing: name ?? "none" };
      const model = wanted.model ?? entry.model;
      return chosenModel(entry, entry.wire?.wireModel?.(model) ?? model);
    },
    providers: () =>
      [...entries.values()].flatMap(({ provider: { name }, model, wire }) =>
        wire ? [{ name, model, priced: pricedModels(wire) }] : [],
      ),
  };

  /** A compatible server has none of OpenAI's models, only those that the operator priced. */
  function pricedModels(wire: Wire<never>): ConfiguredProvider["priced"] {
    const known = wire === WIRES.openai && config.openai?.baseUrl ? Object.keys(config.prices ?? {}) : prices.models();
    return known
      .filter((model) => wire.owns(model))
      .toSorted()
      .flatMap((model) => prices.today(model) ?? []);
  }

  function chosenModel({ provider, maxFunctions }: Entry, model: string): ChosenModel {
    return {
      provider,
      model,
      contextTokens: contextTokens(model),
      maxFunctions: maxFunctions ?? mostFunctions(model),
      cost: (usage) => (provider === offline ? 0 : prices.cost(model, usage)),
    };
  }
}

/** Puts the embedding program's model before the configured ones. Its turns are free. */
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
