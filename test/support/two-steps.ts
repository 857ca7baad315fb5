import type { ChosenModel, ModelProvider } from "../../packages/control-plane/src/ports/model-provider.ts";
import { scriptedModel } from "../../packages/control-plane/test/run/scripted-model.ts";

/** A model that twice calls `look_up` for two ids side by side, and then answers `Done.` */
export function twoSteps(): ModelProvider {
  const { catalog } = scriptedModel(({ messages }) => {
    const own = messages.slice(messages.findLastIndex(({ role }) => role === "user"));
    if (own.filter(({ role }) => role === "results").length === 2) return { text: "Done." };
    const call = (id: number) => ["look_up", { id }] as const;
    return { thoughts: ["Next step."], calls: [call(1), call(2)] };
  });
  return (catalog.choose() as ChosenModel).provider;
}
