import type { ModelCatalog, ModelProvider } from "../ports/model-provider.ts";

/** The same models, each behind what `wrap` makes of its provider; a provider is wrapped once and keeps its name, by which runs find it again. */
export function wrappedModels(catalog: ModelCatalog, wrap: (provider: ModelProvider) => ModelProvider): ModelCatalog {
  const wrapped = new Map<ModelProvider, ModelProvider>();
  return {
    choose(wanted) {
      const chosen = catalog.choose(wanted);
      if ("missing" in chosen) return chosen;
      let provider = wrapped.get(chosen.provider);
      if (!provider) wrapped.set(chosen.provider, (provider = named(chosen.provider.name, wrap(chosen.provider))));
      return { ...chosen, provider };
    },
  };
}

function named(name: string, provider: ModelProvider): ModelProvider {
  return { name, stream: (request, options) => provider.stream(request, options) };
}
