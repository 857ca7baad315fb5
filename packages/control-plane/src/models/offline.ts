import { createOfflineModel } from "@patchbay/offline-model";
import { type ModelProvider, PLAN_GO_AHEAD, PLAN_REQUEST } from "../ports/model-provider.ts";

/** The built-in model that needs no key and no network, and picks functions by the words of a query. */
export const createOfflineProvider = (): ModelProvider =>
  createOfflineModel({ request: PLAN_REQUEST, goAhead: PLAN_GO_AHEAD });
