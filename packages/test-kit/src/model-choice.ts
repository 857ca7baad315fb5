import type { ModelProvider, ModelRequest } from "@patchbay/control-plane";
import { loadControlPlane } from "./control-plane.ts";
import { scriptedModel, type Script, unlessAborted } from "./scripted-model.ts";

/** The model that answers a test's queries. */
export interface ModelChoice {
  /** A model, or a script for one. Default: the offline model, which needs no key and no network. */
  model?: ModelProvider | Script;
  /**
   * Records the model's answers: in one file if the path ends in `.json`, else in a folder with a file for each thread.
   * A recording has no ids and no secrets. It contains the requests as they were sent, so record with data that may be
   * read.
   */
  record?: string;
  /**
   * Answers from a recording, or from a `patchbay runs export` file. A request that is not in it fails the test with
   * what changed.
   */
  replay?: string;
}

/** Returns one query's model: its own if it has one, else the common one. */
export type ChooseModel = (own: ModelChoice["model"]) => ModelProvider;

export async function modelChooser({ model, record, replay }: ModelChoice): Promise<ChooseModel> {
  if (replay !== undefined && (model !== undefined || record !== undefined))
    throw new TypeError(
      "`replay` cannot be combined with `model` or `record`: the recording answers in place of a model.",
    );
  const { createOfflineProvider, recordTo, replayFrom } = await loadControlPlane();
  const wrap = record === undefined ? (provider: ModelProvider) => provider : recordTo(record);
  const common = wrap(replay === undefined ? providerOf(model ?? createOfflineProvider()) : replayFrom(replay));
  return (own) => (own === undefined ? common : wrap(providerOf(own)));
}

function providerOf(model: ModelProvider | Script): ModelProvider {
  return "stream" in model ? model : scriptedModel(model);
}

/** One query's model, with its requests and errors. */
export interface QueryModel {
  readonly model: ModelProvider;
  readonly requests: ModelRequest[];
  readonly errors: unknown[];
}

/**
 * One provider for a control plane that forwards each request to its query's model, by thread. A request may come
 * before `assign` (a new thread's id is known from the response headers only), and then waits for it.
 */
export function createModelSwitch() {
  const models = new Map<string, PromiseWithResolvers<QueryModel>>();

  function entry(threadId: string): PromiseWithResolvers<QueryModel> {
    let found = models.get(threadId);
    if (!found) models.set(threadId, (found = Promise.withResolvers()));
    return found;
  }

  const provider: ModelProvider = {
    name: "test",
    async *stream(request, { signal }) {
      const { model, requests, errors } = await unlessAborted(entry(request.threadId).promise, signal);
      requests.push({ ...request, messages: [...request.messages] });
      try {
        yield* model.stream(request, { signal });
      } catch (error) {
        if (!signal.aborted) errors.push(error);
        throw error;
      }
    },
  };

  return {
    provider,
    assign(threadId: string, model: QueryModel): void {
      entry(threadId).resolve(model);
    },
    release(threadId: string): void {
      models.delete(threadId);
    },
  };
}
