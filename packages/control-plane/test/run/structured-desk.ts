import type { JsonObject } from "@patchbay/protocol";
import { startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel, type ScriptedTurn } from "./scripted-model.ts";

export const SCHEMA: JsonObject = {
  type: "object",
  properties: { total: { type: "number" }, note: { type: "string" } },
  required: ["total"],
  additionalProperties: false,
};

/** A turn that answers with a value. */
export const responds = (value: unknown): ScriptedTurn => ({ calls: [["respond", value]] });

/** A desk whose queries ask for an answer that meets `SCHEMA`. */
export async function structuredDesk(
  turns: Parameters<typeof scriptedModel>[0],
  functions: Parameters<typeof manifestOf>[0] = { open: "everyone", staff: ["agent"] },
) {
  const model = scriptedModel(turns);
  const runtime = fakeGateway(manifestOf(functions), () => ok("done"));
  const core = await startCore({ models: model.catalog, gateway: runtime.gateway });
  const ask = (text = "How much?", more: Parameters<typeof core.query>[1] = {}) =>
    core.query(text, { responseSchema: SCHEMA, ...more });
  return { ...core, ask, model, runtime, [Symbol.asyncDispose]: () => core[Symbol.asyncDispose]() };
}
