import type { ChosenModel, ModelProvider } from "../../packages/control-plane/src/ports/model-provider.ts";
import { scriptedModel } from "../../packages/control-plane/test/run/scripted-model.ts";

/** A model that calls one function once in each run, and then answers `Done.` */
export function callsOnce(name: string, args: object = {}): ModelProvider {
  const { catalog } = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "results" ? { text: "Done." } : { calls: [[name, args]] },
  );
  return (catalog.choose() as ChosenModel).provider;
}
