import { expect, test } from "vitest";
import { contextTokens } from "../src/capabilities.ts";
import { createModelCatalog } from "../src/catalog.ts";
import prices from "../src/prices.json" with { type: "json" };
import type { ChosenModel, ModelProvider } from "@patchbay/engine/ports/model-provider";

const apiKey = "key";
const offline: ModelProvider = {
  name: "offline",
  async *stream() {},
};

function chosen(choice: ChosenModel | { missing: string }): [string, string] | string {
  return "missing" in choice ? `missing ${choice.missing}` : [choice.provider.name, choice.model];
}

test("the first provider with a key is the default, Anthropic before OpenAI before Gemini", () => {
  const openai = { apiKey, api: "responses" as const };

  expect(chosen(createModelCatalog({ gemini: { apiKey }, openai, anthropic: { apiKey }, offline }).choose())).toEqual([
    "anthropic",
    "claude-sonnet-5-5",
  ]);
  expect(chosen(createModelCatalog({ gemini: { apiKey }, openai }).choose())).toEqual(["openai", "gpt-6.1-terra"]);
  expect(chosen(createModelCatalog({ gemini: { apiKey } }).choose())).toEqual(["gemini", "gemini-3.8-flash"]);
});

test("providers are listed with their models of a known price, and the offline model is not", () => {
  const prices = { qwen3: { input: 0.1, output: 0.2 } };
  const openai = { api: "chat" as const, baseUrl: "http://127.0.0.1:11434/v1" };
  const catalog = createModelCatalog({
    anthropic: { apiKey },
    openai,
    offline,
    prices,
    default: { provider: "offline" },
  });

  const [anthropic, compatible, ...others] = catalog.providers();

  expect(others).toEqual([]);
  expect(anthropic).toMatchObject({ name: "anthropic", model: "claude-sonnet-5-5" });
  expect(anthropic?.priced.filter(({ model }) => !model.startsWith("claude-"))).toEqual([]);
  expect(anthropic?.priced).toContainEqual({
    model: "claude-sonnet-5-5",
    price: { input: 2, cachedInput: 0.2, output: 10 },
  });
  // A server that is compatible with OpenAI's has none of its models.
  expect(compatible).toEqual({
    name: "openai",
    family: "openai",
    model: "gpt-4.1-mini",
    priced: [{ model: "qwen3", price: { input: 0.1, cachedInput: undefined, output: 0.2 } }],
  });
  const [first] = createModelCatalog({ openai: { api: "responses", apiKey } }).providers();
  expect(first?.priced.map(({ model }) => model)).toEqual(expect.arrayContaining(["gpt-6.1-terra", "o3"]));
  expect(createModelCatalog({ offline }).providers()).toEqual([]);
});

test("a configured default is chosen, and its model applies only to that provider", () => {
  const catalog = createModelCatalog({
    anthropic: { apiKey },
    gemini: { apiKey },
    default: { provider: "gemini", model: "gemini-4-argon" },
  });

  expect(chosen(catalog.choose())).toEqual(["gemini", "gemini-4-argon"]);
  expect(chosen(catalog.choose({ provider: "anthropic" }))).toEqual(["anthropic", "claude-sonnet-5-5"]);
});

test("the model of a query is used under its name", () => {
  const catalog = createModelCatalog({ anthropic: { apiKey } });

  expect(chosen(catalog.choose({ provider: "anthropic", model: "claude-next" }))).toEqual(["anthropic", "claude-next"]);
});

test("the prefix of Gemini's full model names is removed, since the URL contains it", () => {
  const catalog = createModelCatalog({ gemini: { apiKey }, openai: { apiKey, api: "chat" } });

  expect(chosen(catalog.choose({ provider: "gemini", model: "models/gemini-4-argon" }))).toEqual([
    "gemini",
    "gemini-4-argon",
  ]);
  expect(chosen(catalog.choose({ provider: "openai", model: "openai/gpt-6-astra" }))).toEqual([
    "openai",
    "openai/gpt-6-astra",
  ]);
});

test("a provider without a key is reported as missing by name", () => {
  const catalog = createModelCatalog({ anthropic: { apiKey } });

  expect(chosen(catalog.choose({ provider: "openai" }))).toBe("missing openai");
  expect(chosen(createModelCatalog({ default: { provider: "gemini" } }).choose())).toBe("missing gemini");
  expect(chosen(createModelCatalog({}).choose())).toBe("missing none");
});

test("the URL of a compatible server is enough without a key", () => {
  const catalog = createModelCatalog({ openai: { baseUrl: "http://127.0.0.1:11434/v1", api: "chat" } });

  expect(chosen(catalog.choose({ model: "qwen3" }))).toEqual(["openai", "qwen3"]);
  expect(chosen(createModelCatalog({ openai: { api: "chat" } }).choose())).toBe("missing none");
});

test("the offline provider is used only as the default, and is free", () => {
  const alone = createModelCatalog({ offline }).choose();
  const configured = createModelCatalog({ anthropic: { apiKey }, offline, default: { provider: "offline" } });
  const beside = createModelCatalog({ anthropic: { apiKey }, offline });

  expect(chosen(alone)).toEqual(["offline", "offline"]);
  expect("cost" in alone && alone.cost({ input: 10, cachedInput: 0, output: 10 })).toBe(0);
  expect(chosen(configured.choose())).toEqual(["offline", "offline"]);
  expect(chosen(beside.choose({ provider: "offline" }))).toBe("missing offline");
});

test("a run that started offline continues offline", () => {
  expect(chosen(createModelCatalog({ offline }).choose({ provider: "offline", model: "offline" }))).toEqual([
    "offline",
    "offline",
  ]);
});

test("the context window of every model with a price is known", () => {
  const unknown = Object.keys(prices.models).filter((model) => contextTokens(model) === undefined);

  expect(unknown).toEqual([]);
});

test.each([
  ["claude-sonnet-5-5", 1_000_000],
  ["claude-opus-4-1-20250805", 200_000],
  ["claude-sonnet-4-20250514", 200_000],
  ["claude-sonnet-4-6", 1_000_000],
  ["anthropic/claude-haiku-4-5", 200_000],
  ["gpt-6.1-terra", 1_000_000],
  ["gpt-5.4-mini", 400_000],
  ["gpt-5.5-pro", 1_000_000],
  ["gpt-5.3", 128_000],
  ["gpt-5.3-codex", 400_000],
  ["gpt-4.1-mini", 1_000_000],
  ["gpt-4o-2024-05-13", 128_000],
  ["gpt-4-turbo", 128_000],
  ["gpt-4-0613", 8_192],
  ["o3-mini", 200_000],
  ["models/gemini-3.8-flash", 1_000_000],
  ["qwen3", undefined],
])("the context window of %s", (model, tokens) => {
  const catalog = createModelCatalog({ anthropic: { apiKey } });

  expect(catalog.choose({ model })).toMatchObject({ contextTokens: tokens });
});
