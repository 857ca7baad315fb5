import { AgentSettings, AgentSettingsChange, OVERRIDES } from "@patchbay/protocol";
import { expect, test } from "vitest";
import * as page from "../../src/pages/agents/model-draft.ts";

const { changeOf, draftOf, errorsByField, validateDraft } = page;

const ALL: AgentSettings = {
  provider: "openai",
  model: "gpt-6-luna",
  temperature: 0.2,
  reasoning: "low",
  maxTokens: 500,
  steps: 7,
  fallback: [{ provider: "anthropic", model: "claude-sonnet-5-5", reasoning: "none" }, { provider: "gemini" }],
  historyTokens: 20_000,
  responseSchema: { type: "object" },
  maxCostUsd: 0.5,
  locked: ["temperature", "model"],
};

test("the limits of the fields equal those of the protocol", () => {
  const { shape } = AgentSettings;
  for (const [name, { min, max, whole }] of Object.entries({
    ...page.BOUNDS,
    retentionDays: page.RETENTION_DAYS,
  })) {
    const takes = (value: number) => shape[name as keyof typeof page.BOUNDS | "retentionDays"].safeParse(value).success;
    const step = whole ? 1 : 0.000_000_1;
    expect([takes(min), takes(max), takes(min - step), takes(max + step)], name).toEqual([true, true, false, false]);
    if (whole) expect(takes(min + 0.5), name).toBe(false);
  }
  const models = (count: number) => Array.from({ length: count }, () => ({ provider: "openai" as const }));
  expect(shape.fallback.safeParse(models(page.MAX_FALLBACKS)).success).toBe(true);
  expect(shape.fallback.safeParse(models(page.MAX_FALLBACKS + 1)).success).toBe(false);
  expect(page.OVERRIDES).toEqual(OVERRIDES);
});

test.each([{}, ALL])("an unedited draft changes no settings", (settings) => {
  expect(changeOf(settings, draftOf(settings))).toEqual({});
  expect(validateDraft(draftOf(settings))).toEqual({});
});

test("only edited fields change, and an emptied field clears its setting", () => {
  const draft = { ...draftOf(ALL), temperature: "1.5", steps: " ", responseSchema: "", provider: "" as const };

  expect(changeOf(ALL, draft)).toEqual({ temperature: 1.5, steps: null, responseSchema: null, provider: null });
  expect(AgentSettingsChange.safeParse(changeOf(ALL, draft)).success).toBe(true);
});

test("every setting can be typed and converts to the API's format", () => {
  const typed = { ...draftOf(ALL), fallback: [{ provider: "gemini" as const, model: "  " }], responseSchema: "{ }" };

  const change = changeOf({}, typed);

  expect(change).toEqual({
    ...ALL,
    fallback: [{ provider: "gemini" }],
    responseSchema: {},
    locked: ["model", "temperature"],
  });
  // The others are among the agent's general fields.
  const general = ["callers", "callerClaims", "flows", "retentionDays"];
  const ofModels = Object.keys(AgentSettings.shape).filter((name) => !general.includes(name));
  expect(Object.keys(change).toSorted()).toEqual(ofModels.toSorted());
});

test("an invalid value is reported at its field", () => {
  const draft = {
    ...draftOf({}),
    temperature: "warm",
    maxTokens: "1.5",
    steps: "101",
    historyTokens: "999",
    maxCostUsd: "0",
    responseSchema: "[]",
  };

  expect(validateDraft(draft)).toEqual({
    temperature: "Enter a number from 0 to 2.",
    maxTokens: "Enter a whole number from 1 to 1,000,000.",
    steps: "Enter a whole number from 1 to 100.",
    historyTokens: "Enter a whole number from 1,000 to 1,000,000.",
    maxCostUsd: "Enter a number from 0.000001 to 10,000.",
    responseSchema: 'Enter a JSON object such as {"type": "object"}.',
  });
});

test("errors of the API are assigned to their fields and name the place", () => {
  const details = [
    { path: "settings.model", message: "No price is known" },
    { path: "settings.fallback.1.model", message: "must be a model name" },
    { path: "settings.responseSchema.properties.total.type", message: "must be one of …" },
    { path: "name", message: "is too long" },
  ];

  expect(errorsByField(details)).toEqual({
    model: "No price is known",
    fallback: "Model 2: must be a model name",
    responseSchema: "properties.total.type: must be one of …",
  });
});
