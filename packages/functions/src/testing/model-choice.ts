import type { ModelProvider } from "@patchbay/control-plane";
import { loadControlPlane } from "./control-plane.ts";
import { scriptedModel, type Script } from "./scripted-model.ts";

/** Which model answers. */
export interface ModelChoice {
  /** A model, or the script of a played one. Default: the offline model, which needs no key and no network. */
  model?: ModelProvider | Script;
}

export async function chooseModel({ model }: ModelChoice): Promise<ModelProvider> {
  if (model === undefined) return (await loadControlPlane()).createOfflineProvider();
  return "stream" in model ? model : scriptedModel(model);
}
