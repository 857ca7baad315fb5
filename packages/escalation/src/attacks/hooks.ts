import { ROOT } from "@patchbay/runtime/redaction/shape";
import { scriptedModel, type ScriptedTurn } from "@patchbay/test-kit/scripted-model";
import { WITHHOLD } from "../instrument.ts";
import type { Fixture } from "../fixture.ts";
import type { TriedRole } from "../targets.ts";
import type { Attack } from "./attack.ts";

type Hook = "beforeQuery" | "beforeAnswer";

/** Texts that a hook withholds, in the query and in every place where a model can write a text. */
export const withheldTexts: Attack = {
  name: "texts that a hook withholds",
  risks: ["ASI02"],
  applies: ({ manifest }) => manifest.beforeQuery === true || manifest.beforeAnswer === true,
  async run(fixture, role, label) {
    const { beforeQuery, beforeAnswer } = fixture.service.manifest;
    const text = (hook: Hook, how: keyof typeof WITHHOLD) => {
      const origin = { kind: "withheld" as const, functionName: hook, role: role.effective, path: ROOT };
      return `${WITHHOLD[how]} ${fixture.canaries.text(origin)}`;
    };
    if (beforeQuery) {
      const query = text("beforeQuery", "refuse");
      await fixture.ask({ ...label, query, planted: 1, isRefused: true });
    }
    if (!beforeAnswer) return;
    for (const how of ["replace", "refuse"] as const) {
      for (const turns of scripts(fixture, role, () => text("beforeAnswer", how))) {
        const model = scriptedModel([...turns, "Done."]);
        const asked = await fixture.ask({ ...label, planted: turns.length, model, isRefused: how === "refuse" });
        if (!asked) continue;
        const { threadId } = asked.answer;
        await fixture.ask({ ...label, query: "Continue.", threadId, model: scriptedModel(["Done."]) });
      }
    }
  },
};

function scripts(fixture: Fixture, role: TriedRole, withheld: () => string): ScriptedTurn[][] {
  const [target] = fixture.targets(role).permitted;
  const answer = (): ScriptedTurn => ({ text: withheld(), thoughts: [withheld()] });
  const calling = target && { ...answer(), calls: [{ name: target.functionName, input: target.input }] };
  return [[answer()], ...(calling ? [[calling]] : [])];
}
