import { AgentSettings, LIMITS, OVERRIDES, PROVIDER_NAMES, type AgentSettingsChange } from "@patchbay/protocol";
import { InvalidArgumentError, Option } from "commander";
import { readJsonFile } from "./json-file.ts";

/** Clears a setting. Commander would make an empty text of null. */
const NONE = "none";

type Parsed<T> = { [Name in keyof T]: T[Name] | typeof NONE };

/** The options of `agents update` that are settings, as commander parsed them. */
export interface SettingsOptions extends Parsed<Omit<AgentSettings, "maxCostUsd" | "responseSchema">> {
  maxCostRun?: number | typeof NONE;
  /** A file. */
  responseSchema?: string;
}

/** None of them is read from the environment: PATCHBAY_MODEL is the default of the service and no setting of an agent. */
export function settingsOptions(): Option[] {
  const providers = PROVIDER_NAMES.join(", ");
  return [
    setting("--provider <name>", "provider", `the provider that answers: ${providers}`, `one of ${providers}`, asText),
    setting("--model <name>", "model", "the model that answers", "a model name such as gpt-6-luna", asText),
    setting("--temperature <number>", "temperature", "from 0 to 2", "a number from 0 to 2", asNumber),
    setting(
      "--max-tokens <count>",
      "maxTokens",
      "tokens of one answer of the model at most",
      `a whole number from 1 to ${LIMITS.maxTokens}`,
      asNumber,
    ),
    setting("--steps <count>", "steps", "turns with function calls at most", "a whole number from 1 to 100", asNumber),
    setting(
      "--fallback <models>",
      "fallback",
      "models that are tried in this order when one fails: PROVIDER or PROVIDER/MODEL, separated by commas",
      `up to five of ${providers}, each with a model if wanted, such as anthropic/claude-sonnet-5-5,openai`,
      asModels,
    ),
    setting(
      "--max-cost-run <usd>",
      "maxCostUsd",
      "US dollars that one run may cost at most",
      "US dollars above 0 with at most six decimals, up to 10000",
      asDollars,
    ),
    setting(
      "--history-tokens <count>",
      "historyTokens",
      "tokens of earlier queries of the thread that the model is sent at most",
      "a whole number from 1000 to 1000000",
      asNumber,
    ),
    new Option("--response-schema <file>", "JSON Schema that every answer meets"),
    setting(
      "--locked <names>",
      "locked",
      `settings that queries cannot change: ${OVERRIDES.join(", ")}`,
      `names separated by commas, of ${OVERRIDES.join(", ")}`,
      asNames,
    ),
  ];
}

function setting<Name extends keyof AgentSettings>(
  flags: string,
  name: Name,
  description: string,
  expected: string,
  read: (text: string) => unknown,
): Option {
  return new Option(flags, description).argParser((text): AgentSettings[Name] | typeof NONE => {
    if (text === NONE) return NONE;
    const value = read(text);
    const { success, data } = AgentSettings.shape[name].safeParse(value);
    if (!success || value === undefined) throw new InvalidArgumentError(`expected ${expected}, or ${NONE}`);
    return data as AgentSettings[Name];
  });
}

const asText = (text: string) => text;
const asNumber = (text: string) => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN);
const asDollars = (text: string) => (/^\d+(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN);
const asNames = (text: string) => text.split(",").map((name) => name.trim());

function asModels(text: string): unknown {
  return asNames(text).map((one) => {
    const [provider = "", ...model] = one.split("/");
    return { provider, ...(model.length > 0 && { model: model.join("/") }) };
  });
}

/** The change that the options ask for; undefined where they ask for none. */
export async function settingsChange(options: SettingsOptions): Promise<AgentSettingsChange | undefined> {
  const { provider, model, temperature, maxTokens, steps, fallback, historyTokens, locked, maxCostRun } = options;
  const file = options.responseSchema;
  const responseSchema = file === undefined || file === NONE ? file : await readJsonFile("--response-schema", file);
  const parsed = { provider, model, temperature, maxTokens, steps, fallback, historyTokens, responseSchema, locked };
  const given = Object.entries({ ...parsed, maxCostUsd: maxCostRun }).filter(([, value]) => value !== undefined);
  if (given.length === 0) return undefined;
  // The administration checks what the file holds, and names the place of each fault.
  return Object.fromEntries(given.map(([name, value]) => [name, value === NONE ? null : value])) as AgentSettingsChange;
}

/** The settings as `agents update` shows them. */
export function settingsFields(settings: AgentSettings): [name: string, value: string][] {
  const { provider, model, temperature, maxTokens, steps, fallback, historyTokens, maxCostUsd, locked } = settings;
  const said = (value: string | number | undefined) => (value === undefined ? "default" : String(value));
  return [
    ["provider", said(provider)],
    ["model", said(model)],
    ["temperature", said(temperature)],
    ["max tokens", said(maxTokens)],
    ["steps", said(steps)],
    [
      "fallback",
      fallback?.map(({ provider, model }) => (model ? `${provider}/${model}` : provider)).join(", ") ?? NONE,
    ],
    ["history tokens", said(historyTokens)],
    [
      "response schema",
      settings.responseSchema ? `${JSON.stringify(settings.responseSchema).length} characters` : NONE,
    ],
    ["cost of a run", maxCostUsd === undefined ? "no limit" : `at most ${maxCostUsd} USD`],
    ["locked", locked?.join(", ") ?? NONE],
  ];
}
