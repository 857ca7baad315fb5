import { expect, test } from "vitest";
import { parsePrices } from "../src/prices.ts";
import shipped from "../src/prices.json" with { type: "json" };

const FORM =
  'A price file is JSON like {"models": {"llama-4": {"input": 0.5, "output": 2}}}, in USD per million tokens.';
const ofModel = (price: object): string => JSON.stringify({ models: { "llama-4": price } });

test("a price file has the form of the shipped one", () => {
  expect(parsePrices(JSON.stringify(shipped))).toEqual(shipped.models);
});

test.each([
  ["no price of output", ofModel({ input: 1 }), "Model llama-4, output: must be a number of USD per million tokens."],
  [
    "text in place of a number",
    ofModel({ input: "cheap", output: 1 }),
    "Model llama-4, input: must be a number of USD per million tokens.",
  ],
  [
    "a negative price",
    ofModel({ input: 1, cachedInput: -1, output: 1 }),
    "Model llama-4, cachedInput: must not be negative.",
  ],
  [
    "a misspelt property",
    ofModel({ input: 1, output: 1, cachedinput: 1 }),
    "Model llama-4 has unknown members: cachedinput.",
  ],
  [
    "a misspelt property of a later price",
    ofModel({ input: 1, output: 1, from: { date: "2026-12-01", input: 1, output: 1, cached: 1 } }),
    "Model llama-4 has unknown members: from.cached.",
  ],
  [
    "an invalid date",
    ofModel({ input: 1, output: 1, from: { date: "soon", input: 1, output: 1 } }),
    "Model llama-4, from.date: must be a date such as 2026-12-01.",
  ],
  [
    "a later price without long inputs",
    ofModel({
      input: 1,
      output: 1,
      above: { inputTokens: 100, input: 2, output: 2 },
      from: { date: "2026-12-01", input: 10, output: 10 },
    }),
    "Model llama-4, from.above: is missing: the price has `above`, so the price from that day on needs its own.",
  ],
  ["a name that no query can have", '{"models": {"a b": {"input": 1, "output": 1}}}', '"a b" is not a model name.'],
  ["models that are not named", '{"llama-4": {"input": 1, "output": 2}}', 'This one has no "models".'],
  ["a list", "[]", "The file: Invalid input: expected record, received array."],
  ["no JSON", "llama-4: 1", "This one is not valid JSON."],
])("a price file with %s is refused", (_what, text, fault) => {
  expect(() => parsePrices(text)).toThrow(`${FORM} ${fault}`);
});

test("one error lists all faults", () => {
  const text = JSON.stringify({ models: { a: { input: 1 }, b: { output: 1 } } });

  expect(() => parsePrices(text)).toThrow(/Model a, output: .*; Model b, input: /);
});

const perToken = (input: number) => ({ input_cost_per_token: input, output_cost_per_token: 2e-6, mode: "chat" });

test("a file in litellm's form is accepted", () => {
  const cached = { cache_read_input_token_cost: 5e-7, cache_creation_input_token_cost: 3e-6 };
  const text = JSON.stringify({
    sample_spec: { mode: "chat" },
    "groq/llama-4": { ...perToken(1e-6), ...cached, cache_creation_input_token_cost_above_1hr: 4e-6 },
  });

  const price = { input: 1, cachedInput: 0.5, cacheWriteInput: 3, hourCacheWriteInput: 4, output: 2 };
  expect(parsePrices(text)).toEqual({ "groq/llama-4": price, "llama-4": price });
});

test("a price that litellm's file has for a gateway does not replace the one for the model itself", () => {
  const text = JSON.stringify({
    "llama-4": perToken(1e-6),
    "azure/llama-4": perToken(9e-6),
    "azure/gpt-6-luna": perToken(9e-6),
    "bedrock/*/llama-4": perToken(9e-6),
  });

  expect(Object.entries(parsePrices(text)).map(([name, { input }]) => [name, input])).toEqual([
    ["llama-4", 1],
    ["azure/llama-4", 9],
    ["azure/gpt-6-luna", 9],
  ]);
});
