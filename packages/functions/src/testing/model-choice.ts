import type { ModelProvider } from "@patchbay/control-plane";
import { loadControlPlane } from "./control-plane.ts";
import { scriptedModel, type Script } from "./scripted-model.ts";

/** Which model answers. */
export interface ModelChoice {
  /** A model, or the script of a played one. Default: the offline model, which needs no key and no network. */
  model?: ModelProvider | Script;
  /**
   * Keeps what the model answers: in one file when the path ends in `.json`, else in a folder with a file for each conversation.
   * Ids and secrets are left out; what the model was sent is written as it was, so record with data that may be read.
   */
  record?: string;
  /** Answers from what was recorded in a file or folder, or exported by `patchbay runs export`. A request that is not in it fails the test and says what changed. */
  replay?: string;
}

/** Gives the model of a query that brings one of its own, or the common one. */
export type ChooseModel = (own: ModelChoice["model"]) => ModelProvider;

export async function modelChooser({ model, record, replay }: ModelChoice): Promise<ChooseModel> {
  if (replay !== undefined && (model !== undefined || record !== undefined))
    throw new TypeError("Give a replay alone: it takes the place of the model, and there is nothing to record.");
  const { createOfflineProvider, recordTo, replayFrom } = await loadControlPlane();
  const wrap = record === undefined ? (provider: ModelProvider) => provider : recordTo(record);
  const common = wrap(replay === undefined ? providerOf(model ?? createOfflineProvider()) : replayFrom(replay));
  return (own) => (own === undefined ? common : wrap(providerOf(own)));
}

function providerOf(model: ModelProvider | Script): ModelProvider {
  return "stream" in model ? model : scriptedModel(model);
}
