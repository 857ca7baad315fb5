import type { JsonObject } from "@patchbay/kit";
import { startScripted } from "./core.ts";
import { manifestOf } from "./fake-gateway.ts";
import { scriptedModel, type ScriptedTurn } from "./scripted-model.ts";

export const SCHEMA: JsonObject = {
  type: "object",
  properties: { total: { type: "number" }, note: { type: "string" } },
  required: ["total"],
  additionalProperties: false,
};

/** A turn that answers with a value. */
export const responds = (value: unknown): ScriptedTurn => ({ calls: [["respond", value]] });

/** Starts the run layer; `ask` sends queries whose answers must meet `SCHEMA`. */
export async function startStructured(
  turns: Parameters<typeof scriptedModel>[0],
  functions: Parameters<typeof manifestOf>[0] = { open: "everyone", staff: ["agent"] },
) {
  const core = await startScripted(turns, { manifest: manifestOf(functions) });
  const ask = (text = "How much?", more: Parameters<typeof core.query>[1] = {}) =>
    core.query(text, { responseSchema: SCHEMA, ...more });
  return { ...core, ask };
}
