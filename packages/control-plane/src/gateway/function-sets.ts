import type { OperatorLimits } from "@patchbay/protocol";
import type { Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";
import type { RuntimeStore } from "../ports/stores.ts";
import { createCombinations, type Combinations } from "./combination.ts";
import { type Comparison, createComparison } from "./comparison.ts";
import type { Directory } from "./directory.ts";
import { createJoining, type Joining } from "./joining.ts";
import { createManifests, type Manifests } from "./manifests.ts";
import { createServing, type Serving } from "./serving.ts";
import { createSetOrders } from "./set-order.ts";

/** What a gateway knows of its agents' function sets: which there are, which serve, and how they are combined. */
export interface FunctionSets extends Joining {
  manifests: Manifests;
  comparison: Comparison;
  serving: Serving;
  combinations: Combinations;
}

export function openFunctionSets(options: {
  store: RuntimeStore;
  directory: Directory;
  limits: OperatorLimits;
  log: Log;
  metrics: Pick<Metrics, "accessWidened">;
}): FunctionSets {
  const { store, limits, log } = options;
  const manifests = createManifests(store);
  const orders = createSetOrders({ store, log });
  const comparison = createComparison();
  const serving = createServing({ orders, manifests, comparison, limits, log });
  const combinations = createCombinations({ store, manifests, limits });
  return { manifests, comparison, serving, combinations, ...createJoining({ ...options, orders, serving }) };
}
