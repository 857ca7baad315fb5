import { expect, test } from "vitest";
import { startScripted } from "./core.ts";
import type { ScriptedTurn } from "./scripted-model.ts";

test.each<[what: string, empty: ScriptedTurn]>([
  ["nothing", { text: "" }],
  ["white space", { text: "  \n" }],
  ["thoughts", { text: "", thoughts: ["Hm."] }],
])("a model that twice answers with %s ends the run with provider_error", async (_, empty) => {
  await using system = await startScripted([empty, empty, { text: "never asked for" }]);

  expect(await system.query("Now?")).toMatchObject({
    success: false,
    response: "",
    code: "provider_error",
    errorMessage: "Provider scripted failed: it answered without any text",
  });
  expect(system.model.requests).toHaveLength(2);
});

test("a plan without text is followed by the answer", async () => {
  await using system = await startScripted([{ text: "" }, { text: "" }, { text: "Done." }]);

  expect(await system.query("Now?", { analysisMode: true })).toMatchObject({ success: true, response: "Done." });
});
