import { createOfflineModel } from "@patchbay/offline-model";
import { EXAMPLE_QUERIES, type ModelProvider, PLAN_GO_AHEAD, PLAN_REQUEST } from "../ports/model-provider.ts";

/** The built-in model that needs no key and no network, and picks functions by the words of a query. */
export function createOfflineProvider(): ModelProvider {
  const model = createOfflineModel({ request: PLAN_REQUEST, goAhead: PLAN_GO_AHEAD });
  return {
    name: model.name,
    stream: (request, options) => model.stream({ ...request, exampleQueries: request[EXAMPLE_QUERIES] ?? [] }, options),
  };
}
