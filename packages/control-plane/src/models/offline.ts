import { EXAMPLE_QUERIES, type ModelProvider, PLAN_GO_AHEAD, PLAN_REQUEST } from "../ports/model-provider.ts";

/**
 * The built-in model that needs no key and no network, and picks functions by the words of a query. It is loaded with its first turn:
 * services with a provider never need it.
 */
export function createOfflineProvider(): ModelProvider {
  return {
    name: "offline",
    async *stream(request, options) {
      const { createOfflineModel } = await import("@patchbay/offline-model");
      const model = createOfflineModel({ request: PLAN_REQUEST, goAhead: PLAN_GO_AHEAD });
      yield* model.stream({ ...request, exampleQueries: request[EXAMPLE_QUERIES] ?? [] }, options);
    },
  };
}
