import type { ModelProvider } from "@patchbay/engine/ports/model-provider";

/**
 * The built-in model, which needs no key or network and picks functions by the words in a query. It is loaded with its
 * first turn: services with a provider never need it.
 */
export function createOfflineProvider(): ModelProvider {
  return {
    name: "offline",
    async *stream(request, options) {
      const { offlineModel } = await import("@patchbay/offline-model");
      yield* offlineModel.stream(request, options);
    },
  };
}
