import type { ChosenModel, ModelProvider } from "@patchbay/engine/ports/model-provider";
import { scriptedModel } from "../../packages/engine/test/run/scripted-model.ts";

/** A model that calls one function once in each run, and then answers `Done.` */
export function callsOnce(name: string, args: object = {}): ModelProvider {
  const { catalog } = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "results" ? { text: "Done." } : { calls: [[name, args]] },
  );
  return (catalog.choose() as ChosenModel).provider;
}

/** A model that makes two parallel calls of `look_up` in each of two turns, and then answers `Done.` */
export function twoSteps(): ModelProvider {
  const { catalog } = scriptedModel(({ messages }) => {
    const own = messages.slice(messages.findLastIndex(({ role }) => role === "user"));
    if (own.filter(({ role }) => role === "results").length === 2) return { text: "Done." };
    const call = (id: number) => ["look_up", { id }] as const;
    return { thoughts: ["Next step."], calls: [call(1), call(2)] };
  });
  return (catalog.choose() as ChosenModel).provider;
}
