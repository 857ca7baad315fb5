import type { AgentDetail } from "@patchbay/protocol/console";
import type { Reasoning } from "@patchbay/protocol/providers";
import type { BodyOf } from "../../api/routes.ts";
import { type Bounds, checkNumber, checkObject } from "../../format/typed.ts";

type Settings = AgentDetail["settings"];
type Change = NonNullable<BodyOf<"PATCH", "/agents/:agent_id">["settings"]>;
export type Override = NonNullable<Settings["locked"]>[number];

/** The settings as typed; an empty field means the default. */
export interface ModelDraft {
  provider: string;
  model: string;
  temperature: string;
  reasoning: "" | Reasoning;
  maxTokens: string;
  steps: string;
  fallback: readonly { provider: string; model: string; reasoning?: Reasoning | undefined }[];
  historyTokens: string;
  responseSchema: string;
  maxCostUsd: string;
  locked: readonly Override[];
}

export type ModelErrors = { [Name in keyof ModelDraft]?: string };

/** Copies of the limits in `@patchbay/protocol`, whose schemas would add to the bundle; a test compares the two. */
export const MAX_FALLBACKS = 5;
export const OVERRIDES = "model temperature maxTokens reasoning fallback responseSchema".split(
  " ",
) as readonly Override[];

/** The saved settings as text for the fields. */
export function draftOf(settings: Settings): ModelDraft {
  const typed = (value: string | number | undefined) => value?.toString() ?? "";
  const { responseSchema } = settings;
  return {
    provider: settings.provider ?? "",
    model: typed(settings.model),
    temperature: typed(settings.temperature),
    reasoning: settings.reasoning ?? "",
    maxTokens: typed(settings.maxTokens),
    steps: typed(settings.steps),
    fallback: (settings.fallback ?? []).map((one) => ({ ...one, model: one.model ?? "" })),
    historyTokens: typed(settings.historyTokens),
    responseSchema: responseSchema === undefined ? "" : JSON.stringify(responseSchema, null, 2),
    maxCostUsd: typed(settings.maxCostUsd),
    locked: OVERRIDES.filter((name) => settings.locked?.includes(name)),
  };
}

/** Number field bounds, copied from the protocol like `MAX_FALLBACKS`. */
export const BOUNDS = {
  temperature: { min: 0, max: 2, whole: false },
  maxTokens: { min: 1, max: 1_000_000, whole: true },
  steps: { min: 1, max: 100, whole: true },
  historyTokens: { min: 1_000, max: 1_000_000, whole: true },
  maxCostUsd: { min: 0.000_001, max: 10_000, whole: false },
} as const satisfies { [Name in keyof ModelDraft]?: Bounds };

/** Bounds for an agent's run retention in days. */
export const RETENTION_DAYS: Bounds = { min: 1, max: 36_500, whole: true };

const NUMBERS = Object.keys(BOUNDS) as (keyof typeof BOUNDS)[];

/** Errors by field. Only numbers and JSON syntax are checked here; the API checks model names and the schema itself. */
export function validateDraft(draft: ModelDraft): ModelErrors {
  const errors = NUMBERS.map((name) => [name, checkNumber(draft[name], BOUNDS[name])] as const);
  const schema = ["responseSchema", checkObject(draft.responseSchema, '{"type": "object"}')] as const;
  return Object.fromEntries([...errors, schema].filter(([, error]) => error !== undefined));
}

/** A valid draft's changed settings; `null` clears a setting. */
export function changeOf(settings: Settings, draft: ModelDraft): Change {
  const before = draftOf(settings);
  const after: Change = {
    provider: draft.provider || null,
    model: draft.model.trim() || null,
    reasoning: draft.reasoning || null,
    fallback: draft.fallback.map(({ provider, model, reasoning }) => {
      return { provider, ...(model.trim() && { model: model.trim() }), ...(reasoning && { reasoning }) };
    }),
    responseSchema: draft.responseSchema.trim() === "" ? null : JSON.parse(draft.responseSchema),
    locked: [...draft.locked],
  };
  for (const name of NUMBERS) after[name] = draft[name].trim() === "" ? null : Number(draft[name]);
  const changed = (Object.keys(after) as (keyof ModelDraft)[]).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(draft[name]),
  );
  return Object.fromEntries(changed.map((name) => [name, after[name]]));
}

/** API errors by field; the text names the place within the field. */
export function errorsByField(details: readonly { path: string; message: string }[]): ModelErrors {
  const errors: ModelErrors = {};
  for (const { path, message } of details) {
    const [, name, rest] = /^settings\.(\w+)\.?(.*)$/.exec(path) ?? [];
    if (name === undefined) continue;
    const field = name as keyof ModelDraft;
    errors[field] ??= prefixOf(field, rest ?? "") + message;
  }
  return errors;
}

function prefixOf(field: keyof ModelDraft, rest: string): string {
  if (rest === "") return "";
  const [, index] = /^(\d+)/.exec(rest) ?? [];
  return field === "fallback" && index !== undefined ? `Model ${Number(index) + 1}: ` : `${rest}: `;
}
