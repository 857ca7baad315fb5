import type { Service } from "../../../service.ts";
import { ROOT } from "../../../redaction/paths.ts";
import { scriptedModel, type ScriptedTurn } from "../../scripted-model.ts";
import { WITHHOLD } from "../instrument.ts";
import type { Stage } from "../stage.ts";
import type { TriedRole } from "../targets.ts";
import type { Attack } from "./attack.ts";

type Hook = "beforeQuery" | "beforeAnswer";

/** Texts that a hook withholds, wherever a model can write one and in the query. */
export const withheldTexts: Attack = {
  name: "texts that a hook withholds",
  applies: ({ manifest }: Service) => manifest.beforeQuery === true || manifest.beforeAnswer === true,
  async run(stage, role, attack) {
    const { beforeQuery, beforeAnswer } = stage.service.manifest;
    const text = (hook: Hook, how: keyof typeof WITHHOLD) =>
      `${WITHHOLD[how]} ${stage.marks.text({ kind: "withheld", functionName: hook, role: role.effective, path: ROOT })}`;
    if (beforeQuery) {
      const query = text("beforeQuery", "refuse");
      await stage.ask({ attack, role, query, planted: 1, isRefused: true });
    }
    if (!beforeAnswer) return;
    for (const how of ["replace", "refuse"] as const) {
      for (const turns of scripts(stage, role, () => text("beforeAnswer", how))) {
        const model = scriptedModel([...turns, "Done."]);
        const asked = await stage.ask({ attack, role, planted: turns.length, model, isRefused: how === "refuse" });
        if (!asked) continue;
        const { threadId } = asked.answer;
        await stage.ask({ attack, role, query: "Go on.", threadId, model: scriptedModel(["Done."]) });
      }
    }
  },
};

function scripts(stage: Stage, role: TriedRole, withheld: () => string): ScriptedTurn[][] {
  const [target] = stage.targets(role).permitted;
  const answer = (): ScriptedTurn => ({ text: withheld(), thoughts: [withheld()] });
  const calling = target && { ...answer(), calls: [{ name: target.functionName, input: target.input }] };
  return [[answer()], ...(calling ? [[calling]] : [])];
}
