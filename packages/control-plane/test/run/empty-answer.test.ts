import { expect, test } from "vitest";
import { startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel, type ScriptedTurn } from "./scripted-model.ts";

async function desk(turns: ScriptedTurn[]) {
  const model = scriptedModel(turns);
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok("done"));
  const core = await startCore({ models: model.catalog, gateway });
  return { ...core, model, [Symbol.asyncDispose]: () => core[Symbol.asyncDispose]() };
}

test.each<[what: string, empty: ScriptedTurn]>([
  ["nothing", { text: "" }],
  ["white space", { text: "  \n" }],
  ["thoughts", { text: "", thoughts: ["Hm."] }],
])("a model that twice answers with %s ends the run with provider_error", async (_, empty) => {
  await using system = await desk([empty, empty, { text: "never asked for" }]);

  expect(await system.query("Now?")).toMatchObject({
    success: false,
    response: "",
    code: "provider_error",
    errorMessage: "Provider scripted failed: it answered without any text",
  });
  expect(system.model.requests).toHaveLength(2);
});

test("a plan without text is followed by the answer", async () => {
  await using system = await desk([{ text: "" }, { text: "" }, { text: "Done." }]);

  expect(await system.query("Now?", { analysisMode: true })).toMatchObject({ success: true, response: "Done." });
});
