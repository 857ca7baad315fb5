import {
  AgentSettingsChange,
  type AgentSettings,
  type Fault,
  type JsonObject,
  type JsonValue,
} from "@patchbay/protocol";
import type { ModelPrices } from "../models/price-file.ts";
import { createPrices } from "../models/prices.ts";
import { AdminError } from "./admin-error.ts";

/** A change that holds only values that settings can have. Throws `AdminError` with every fault. */
export function parseSettingsChange(change: unknown): AgentSettingsChange {
  const { success, data, error } = AgentSettingsChange.safeParse(change);
  if (success) return data;
  const faults = error.issues.map(({ path, message }) => ({
    path: ["settings", ...path].map(String).join("."),
    message,
  }));
  throw new AdminError(`These settings cannot be stored. ${faults.map(sentence).join(" ")}`, "value", faults);
}

/** Refuses models that could not be charged. `prices`: those of the operator. */
export function requirePrices({ model, fallback }: AgentSettingsChange, prices: ModelPrices | undefined): void {
  const named = [
    { path: "settings.model", model },
    ...(fallback ?? []).map(({ model }, index) => ({ path: `settings.fallback.${index}.model`, model })),
  ];
  const { cost } = createPrices(prices);
  const faults = named.flatMap(({ path, model }): Fault[] =>
    typeof model !== "string" || cost(model, { input: 0, cachedInput: 0, output: 0 }) !== undefined
      ? []
      : [{ path, message: `No price is known for model ${model}, and the agent's organisation pays for its queries` }],
  );
  const [first] = faults;
  if (first)
    throw new AdminError(
      `${first.message}. Name another model, or have the operator add its price (--prices).`,
      "model",
      faults,
    );
}

/** What a change made of settings, for the audit log: old and new values, of a schema only that there is one. */
export function settingsChanges(before: AgentSettings, after: AgentSettings): JsonObject | undefined {
  const names = Object.keys({ ...before, ...after }) as (keyof AgentSettings)[];
  const changed = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  if (changed.length === 0) return undefined;
  return Object.fromEntries(changed.map((name) => [name, { from: noted(before, name), to: noted(after, name) }]));
}

function noted(settings: AgentSettings, name: keyof AgentSettings): JsonValue {
  const value = settings[name];
  if (value === undefined) return null;
  return name === "responseSchema" ? "(a schema)" : (value as JsonValue);
}

const sentence = ({ path, message }: Fault): string => `${path}: ${message}.`;
