import {
  type AgentSettings,
  type AgentSettingsChange,
  CALLERS,
  FLOW_MODES,
  type FallbackModel,
  LIMITS,
  OVERRIDES,
  PROVIDER_NAMES,
  REASONING,
} from "@patchbay/protocol";
import { plainOption, readJsonFile, type TypedOption } from "../options.ts";

/** The argument that clears a setting. */
const NONE = "none";

interface Setting {
  flags: string;
  description: string;
  expected: string;
  /** What clears it. Default: `NONE`. */
  clearedBy?: string;
  /** Default: the text itself. */
  read?: (text: string) => unknown;
}

const PROVIDERS = PROVIDER_NAMES.join(", ");
const whole = (from: number, to: number) => ({ expected: `a whole number from ${from} to ${to}`, read: asNumber });

/** Not read from the environment: PATCHBAY_MODEL, for example, is the service's default, not an agent setting. */
const SETTINGS: Partial<Record<keyof AgentSettings, Setting>> = {
  provider: {
    flags: "--provider <name>",
    description: `the provider that answers: ${PROVIDERS}, or an endpoint of --providers (default: the service's)`,
    expected: `one of ${PROVIDERS}, or an endpoint's name`,
  },
  model: {
    flags: "--model <name>",
    description: "model name, such as gpt-6-luna (default: the provider's)",
    expected: "a model name such as gpt-6-luna",
  },
  temperature: {
    flags: "--temperature <number>",
    description: "randomness of the model's words, 0 to 2 (default: the provider's)",
    expected: "a number from 0 to 2",
    read: asNumber,
  },
  maxTokens: {
    flags: "--max-tokens <count>",
    description: `tokens in one model answer, 1 to ${LIMITS.maxTokens}; a longer one is cut (default: ${LIMITS.defaultMaxTokens})`,
    ...whole(1, LIMITS.maxTokens),
  },
  reasoning: {
    flags: "--reasoning <level>",
    description: `how much the model reasons: ${REASONING.join(", ")}, or default for the provider's (default: the provider's)`,
    expected: `one of ${REASONING.join(", ")}`,
    clearedBy: "default",
  },
  steps: {
    flags: "--steps <count>",
    description: `turns with function calls, 1 to 100, before the model must answer (default: ${LIMITS.steps})`,
    ...whole(1, 100),
  },
  fallback: {
    flags: "--fallback <models>",
    description:
      "models to try in this order when one fails: PROVIDER or PROVIDER/MODEL, or an endpoint in place of the provider, comma-separated, each with its own reasoning after a #",
    expected: `up to five from ${PROVIDERS} or endpoints, each optionally with a model, such as anthropic/claude-sonnet-5-5#low,openai`,
    read: asModels,
  },
  maxCostUsd: {
    flags: "--max-cost-run <usd>",
    description:
      "US dollars that one run may cost, up to 10000; it ends with budget_exceeded before a turn that could exceed it (default: no limit)",
    expected: "US dollars above 0, at most 10000, with up to six decimals",
    read: asDollars,
  },
  historyTokens: {
    flags: "--history-tokens <count>",
    description:
      "tokens from earlier queries that the model receives, 1000 to 1000000; older ones are omitted (default: half the model's window)",
    ...whole(1_000, 1_000_000),
  },
  locked: {
    flags: "--locked <names>",
    description: `settings that queries cannot change, else 400: ${OVERRIDES.join(", ")} (default: none)`,
    expected: `names separated by commas, from ${OVERRIDES.join(", ")}`,
    read: asNames,
  },
  callers: {
    flags: "--callers <word>",
    description: `whether requests need a proven caller's token in X-Patchbay-Caller: ${CALLERS.join(", ")} (default: optional)`,
    expected: `one of ${CALLERS.join(", ")}`,
  },
  callerClaims: {
    flags: "--caller-claims <claims>",
    description: "claims of callers' tokens that functions receive in ctx.caller, comma-separated (default: none)",
    expected: "up to 20 names of claims separated by commas",
    read: asNames,
  },
  flows: {
    flags: "--flows <mode>",
    description: `stricter mode for the data-flow rules of services that have some: ${FLOW_MODES.join(", ")} (default: the service's)`,
    expected: `one of ${FLOW_MODES.join(", ")}`,
  },
  retentionDays: {
    flags: "--retention-days <days>",
    description: "days to keep ended runs, 1 to 36500; at most the service's (default: the service's)",
    ...whole(1, 36_500),
  },
};

const SCHEMA = plainOption(
  "--response-schema <file>",
  "JSON Schema for every answer, unless a query has its own (default: none)",
);

const optionOf = ({ flags, description }: Setting) => plainOption(flags, description);

export const settingsOptions = (): TypedOption<object>[] => [...Object.values(SETTINGS).map(optionOf), SCHEMA];

function asNumber(text: string): number {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
}

function asDollars(text: string): number {
  return /^\d+(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
}

function asNames(text: string): string[] {
  return text.split(",").map((name) => name.trim());
}

function asModels(text: string): unknown {
  return asNames(text).map((entry) => {
    const [name = "", reasoning] = entry.split("#");
    const [provider = "", ...model] = name.split("/");
    return { provider, ...(model.length > 0 && { model: model.join("/") }), ...(reasoning && { reasoning }) };
  });
}

/** The settings change from the options; undefined without a setting. Refuses an invalid argument. */
export async function settingsChange(
  options: object,
  refuse: (message: string) => never,
): Promise<AgentSettingsChange | undefined> {
  // From the control plane: otherwise the protocol's schemas would be bundled into the command, which loads them at
  // every start.
  const { AgentSettings } = await import("@patchbay/control-plane/admin");
  const texts = options as Partial<Record<string, string>>;
  const change: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(SETTINGS)) {
    const text = texts[optionOf(setting).attributeName()];
    if (text === undefined) continue;
    const { flags, expected, clearedBy = NONE, read = String } = setting;
    const value = text === clearedBy ? null : read(text);
    if (value !== null && !AgentSettings.shape[name as keyof AgentSettings].safeParse(value).success)
      refuse(`option '${flags}' argument '${text}' is invalid. expected ${expected}, or ${clearedBy}`);
    change[name] = value;
  }
  const { responseSchema: file } = texts;
  // `updateAgent` checks the schema and names each fault's position.
  if (file !== undefined)
    change["responseSchema"] = file === NONE ? null : await readJsonFile("--response-schema", file);
  return Object.keys(change).length === 0 ? undefined : change;
}

const nameOf = ({ provider, model, reasoning }: FallbackModel): string =>
  (model ? `${provider}/${model}` : provider) + (reasoning ? `#${reasoning}` : "");

const daysOf = (count: number): string => (count === 1 ? "1 day" : `${count} days`);

/** The settings as `agents update` shows them. */
export function settingsFields(settings: AgentSettings): [name: string, value: string][] {
  const { provider, model, temperature, maxTokens, steps, fallback, historyTokens, maxCostUsd, locked } = settings;
  const said = (value: string | number | undefined) => (value === undefined ? "default" : String(value));
  return [
    ["provider", said(provider)],
    ["model", said(model)],
    ["temperature", said(temperature)],
    ["reasoning", said(settings.reasoning)],
    ["max tokens", said(maxTokens)],
    ["steps", said(steps)],
    ["fallback", fallback?.map(nameOf).join(", ") ?? NONE],
    ["history tokens", said(historyTokens)],
    [
      "response schema",
      settings.responseSchema ? `${JSON.stringify(settings.responseSchema).length} characters` : NONE,
    ],
    ["cost of a run", maxCostUsd === undefined ? "no limit" : `at most ${maxCostUsd} USD`],
    ["locked", locked?.join(", ") ?? NONE],
    ["proven callers", settings.callers ?? "optional"],
    ["claims of callers", settings.callerClaims?.join(", ") ?? NONE],
    ["data-flow rules", settings.flows === undefined ? "as the services" : `at least ${settings.flows}`],
    ["retention", settings.retentionDays === undefined ? "default" : daysOf(settings.retentionDays)],
  ];
}
