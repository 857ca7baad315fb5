import { isDeepStrictEqual } from "node:util";
import { present } from "@patchbay/kit";
import type {
  ChosenModel,
  Message,
  ModelCatalog,
  ModelProvider,
  ProviderList,
} from "@patchbay/engine/ports/model-provider";
import { PROVIDER_NAMES, type ProviderName } from "@patchbay/protocol/providers";
import { contextTokens, mostFunctions } from "./capabilities.ts";
import type { Endpoint } from "./endpoints.ts";
import { createProfile, type ServerProfile } from "./profiles.ts";
import { createPrices, type ModelPrices } from "./prices.ts";
import { type Accounts, WIRES, type Wire } from "./providers.ts";

export interface ProviderConfig extends Accounts {
  /** Used only as the default: callers cannot choose it. */
  offline?: ModelProvider;
  /** Takes precedence over the key order. `model` belongs to this provider. */
  default?: { provider?: string; model?: string };
  /** Named endpoints in place of the providers: the list as it is now, a new one after each change. The first is the default. */
  endpoints?: () => readonly Endpoint[];
  /** Model prices in USD per million tokens, each replacing the shipped price. */
  prices?: ModelPrices;
}

type ListedCatalog = ModelCatalog & ProviderList;

interface Entry {
  provider: ModelProvider;
  model: string;
  /** The provider that queries name; absent for the offline model. */
  family?: ProviderName;
  endpoint?: Endpoint;
  profile?: ServerProfile;
  prices: ReturnType<typeof createPrices>;
}

/** The configured providers. Nothing is loaded or connected before a model is first used. */
export function createModelCatalog(config: ProviderConfig): ListedCatalog {
  const { offline } = config;
  const prices = createPrices(config.prices);
  let entries = new Map<string, Entry>();
  for (const name of PROVIDER_NAMES) {
    const entry = config[name] && entryOf(name, config[name], prices);
    if (entry) entries.set(name, entry);
  }
  const fallback = config.default?.provider ?? entries.keys().next().value ?? (offline ? offline.name : undefined);
  if (offline && fallback === offline.name)
    entries.set(offline.name, { provider: offline, model: offline.name, prices });
  const chosen = fallback === undefined ? undefined : entries.get(fallback);
  if (chosen && config.default?.model) chosen.model = config.default.model;
  let listed: readonly Endpoint[] | undefined;

  /** The endpoints as the file has them now. One that has not changed keeps its connections and what it has learned. */
  function current(): Map<string, Entry> {
    const list = config.endpoints?.();
    if (!list || list === listed) return entries;
    listed = list;
    const known = entries;
    entries = new Map();
    for (const endpoint of list) {
      const former = known.get(endpoint.name);
      const entry = isDeepStrictEqual(former?.endpoint, endpoint) ? former : endpointEntry(endpoint, config.prices);
      if (entry) entries.set(endpoint.name, entry);
    }
    return entries;
  }

  const usable = (orgId = ""): Entry[] =>
    [...current().values()].filter(({ endpoint }) => endpoint?.organisations?.includes(orgId) ?? true);

  /** A provider's name means its first endpoint that the organisation may use; no name means the first of all. */
  function find(name: string | undefined, orgId: string | undefined): Entry | undefined {
    const mine = usable(orgId);
    if (name === undefined) return mine[0];
    return mine.find(({ family }) => family === name) ?? mine.find(({ provider }) => provider.name === name);
  }

  return {
    choose({ provider: wanted, model: asked, orgId } = {}) {
      const name = wanted ?? (config.endpoints ? undefined : fallback);
      const entry = name === undefined && !config.endpoints ? undefined : find(name, orgId);
      if (!entry) return { missing: name ?? "none" };
      const { provider, family, endpoint } = entry;
      const wire: Wire<never> | undefined = family && WIRES[family];
      const wireModel = (model: string): string => wire?.wireModel?.(model) ?? model;
      const model = wireModel(asked ?? entry.model);
      const models = endpoint?.models && Object.keys(endpoint.models).map(wireModel);
      if (models?.includes(model) === false) return { missing: provider.name, models };
      const cost: ChosenModel["cost"] = (usage) => (provider === offline ? 0 : entry.prices.cost(model, usage));
      const maxFunctions = entry.profile?.maxTools ?? mostFunctions(model);
      return { provider, model, contextTokens: contextTokens(model), maxFunctions, cost };
    },
    providers: (orgId) =>
      (orgId === undefined ? [...current().values()] : usable(orgId)).flatMap(
        ({ provider: { name }, model, family, profile, ...entry }) => {
          if (!family) return [];
          const leftOut = profile?.left() ?? [];
          return [{ name, family, model, priced: pricedModels(family, entry), ...(leftOut.length > 0 && { leftOut }) }];
        },
      ),
  };

  /** A compatible server has none of OpenAI's models, only those that the operator names. */
  function pricedModels(family: ProviderName, { endpoint, prices }: Pick<Entry, "endpoint" | "prices">) {
    const address = endpoint ? endpoint.baseUrl : config.openai?.baseUrl;
    const stated = endpoint?.models ?? (family === "openai" && address ? (config.prices ?? {}) : undefined);
    return (stated ? Object.keys(stated) : prices.models())
      .filter((model) => WIRES[family].owns(model))
      .toSorted()
      .flatMap((model) => prices.today(model) ?? []);
  }
}

function entryOf(
  family: ProviderName,
  account: NonNullable<Accounts[ProviderName]>,
  prices: Entry["prices"],
): Entry | undefined {
  const wire: Wire<never> = WIRES[family];
  const profile = createProfile(account);
  const provider = wire.create(account as never, profile);
  return provider && { provider, model: wire.defaultModel(account as never), family, profile, prices };
}

function endpointEntry(endpoint: Endpoint, shared: ModelPrices | undefined): Entry | undefined {
  const { name, provider: family, wire, key, models = {}, ...account } = endpoint;
  const isOpenai = account.baseUrl === undefined || account.auth === "azure";
  const api: "chat" | "responses" = wire === "chat" || (wire === undefined && !isOpenai) ? "chat" : "responses";
  const own = Object.entries(models).flatMap(([model, { price }]) => (price ? [[model, price] as const] : []));
  const prices = createPrices({ ...shared, ...Object.fromEntries(own) });
  // Servers that need no key get one that they ignore, clouds none.
  const apiKey = key ?? (family === "openai" && account.auth !== "azure" ? "none" : undefined);
  const entry = entryOf(family, { ...account, apiKey, api }, prices);
  if (!entry) return undefined;
  const [model = entry.model] = Object.keys(models);
  return { ...entry, model, endpoint, provider: endpointProvider(name, family, entry.provider) };
}

/** A provider under an endpoint's name. What one endpoint issued, such as signed thoughts, goes back to it only. */
function endpointProvider(name: string, family: string, { stream }: ModelProvider): ModelProvider {
  const mark = `${name}/`;
  const own = (message: Message): Message => {
    if (message.role !== "assistant" || !message.echo) return message;
    const { echo, ...bare } = message;
    if (!echo.provider.startsWith(mark)) return bare;
    return { ...bare, echo: { ...echo, provider: echo.provider.slice(mark.length) } };
  };
  return {
    name,
    family,
    async *stream(request, options) {
      for await (const event of stream({ ...request, messages: request.messages.map(own) }, options)) {
        const echo = event.type === "end" ? event.turn.echo : undefined;
        if (event.type !== "end" || !echo) yield event;
        else yield { ...event, turn: { ...event.turn, echo: { ...echo, provider: mark + echo.provider } } };
      }
    },
  };
}

/** Puts the embedding program's model before the configured ones. Its turns are free. */
export function withOwnModel(configured: ListedCatalog, provider: ModelProvider): ListedCatalog {
  const own: ChosenModel = { provider, model: provider.name, cost: () => 0 };
  return {
    choose(wanted = {}) {
      return wanted.provider === undefined || wanted.provider === provider.name ? own : configured.choose(wanted);
    },
    providers: (orgId) => configured.providers(orgId),
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
      if (!provider) wrapped.set(chosen.provider, (provider = named(chosen.provider, wrap(chosen.provider))));
      return { ...chosen, provider };
    },
    providers: (orgId) => catalog.providers(orgId),
  };
}

function named({ name, family }: ModelProvider, wrapped: ModelProvider): ModelProvider {
  return { name, ...present({ family }), stream: (request, options) => wrapped.stream(request, options) };
}
