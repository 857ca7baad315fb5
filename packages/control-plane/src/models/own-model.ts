import type { ChosenModel, ModelCatalog, ModelProvider } from "../ports/model-provider.ts";

/** Puts a model of the embedding program's before the configured ones; it costs nothing here. */
export function withOwnModel(configured: ModelCatalog, provider: ModelProvider): ModelCatalog {
  const own: ChosenModel = { provider, model: provider.name, cost: () => 0 };
  return {
    choose(wanted = {}) {
      return wanted.provider === undefined || wanted.provider === provider.name ? own : configured.choose(wanted);
    },
  };
}
