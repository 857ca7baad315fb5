import { expect, test } from "vitest";
import { createPrices } from "../src/prices.ts";

const usage = { input: 1000, cachedInput: 400, output: 100 };

test("a turn costs its fresh input, cached input and output, in whole micro-dollars rounded up", () => {
  expect(createPrices().cost("claude-sonnet-5-5", usage)).toBe(600 * 2 + 400 * 0.2 + 100 * 10);
  expect(createPrices().cost("gpt-6-luna", { input: 1, cachedInput: 0, output: 0 })).toBe(1);
});

test("cached input without a price of its own costs as much as fresh input", () => {
  expect(createPrices().cost("claude-haiku-5-5", usage)).toBe(150);
});

test.each([
  ["claude-sonnet-5-5", 2 * 1.25],
  ["anthropic/claude-opus-5-5", 4 * 1.25],
  ["gpt-6.1-terra", 1 * 1.25],
  ["gpt-5.6-sol", 4 * 1.25],
  ["claude-3-haiku", 0.3],
  ["gpt-5.5", 5],
  ["gpt-4.1-mini", 0.4],
  ["gemini-3.8-flash", 0.75],
])("input that %s writes to its cache costs %d USD per million tokens", (model, dollars) => {
  const written = { input: 1_000_000 / 8, cachedInput: 0, cacheWriteInput: 1_000_000 / 8, output: 0 };

  expect(createPrices().cost(model, written)).toBe((dollars * 1_000_000) / 8);
});

test("Claude's cache writes for one hour cost twice the input price, other writes a quarter more", () => {
  const written = { input: 1000, cachedInput: 0, cacheWriteInput: 1000, hourCacheWriteInput: 400, output: 0 };

  expect(createPrices().cost("claude-opus-5-5", written)).toBe(600 * 5 + 400 * 8);
});

test("a cache write of a long input has the price of long input", () => {
  const written = { input: 300_000, cachedInput: 0, cacheWriteInput: 300_000, output: 0 };

  expect(createPrices().cost("gpt-6.1-terra", written)).toBe(300_000 * 2 * 1.25);
});

test("parts that exceed the input are cut to it", () => {
  const odd = { input: 100, cachedInput: 80, cacheWriteInput: 80, hourCacheWriteInput: 90, output: 0 };

  expect(createPrices().cost("claude-opus-5-5", odd)).toBe(Math.ceil(80 * 0.2 + 20 * 8));
});

test("a long input changes the price of the whole turn", () => {
  const long = { input: 300_000, cachedInput: 0, output: 100 };

  expect(createPrices().cost("gpt-6.1-terra", long)).toBe(300_000 * 2 + 100 * 7.5);
});

test("a price change takes effect on its day", () => {
  const november = createPrices(undefined, { now: () => Date.parse("2026-11-30T23:59:59Z") });
  const december = createPrices(undefined, { now: () => Date.parse("2026-12-01T00:00:00Z") });

  expect(november.cost("gemini-4-argon", { input: 100, cachedInput: 0, output: 0 })).toBe(200);
  expect(december.cost("gemini-4-argon", { input: 100, cachedInput: 0, output: 0 })).toBe(400);
});

test("the price of long input changes on the same day", () => {
  const above = { inputTokens: 100, input: 2, output: 0 };
  const from = { date: "2026-01-01", input: 10, output: 0, above: { inputTokens: 150, input: 20, output: 0 } };
  const costs = (day: string) => {
    const { cost } = createPrices({ x: { input: 1, output: 0, above, from } }, { now: () => Date.parse(day) });
    return [100, 150, 200].map((input) => cost("x", { input, cachedInput: 0, output: 0 }));
  };

  expect(costs("2025-12-31T23:59:59Z")).toEqual([100, 300, 400]);
  expect(costs("2026-01-01")).toEqual([1000, 1500, 4000]);
});

test("a dated model has the price of its name", () => {
  expect(createPrices().cost("gpt-4.1-mini-2025-04-14", usage)).toBe(createPrices().cost("gpt-4.1-mini", usage));
});

test.each([
  ["openai/gpt-6-astra", "gpt-6-astra"],
  ["gpt-6-astra-latest", "gpt-6-astra"],
  ["models/gemini-4-argon", "gemini-4-argon"],
  ["openrouter/openai/gpt-4.1-mini-2025-04-14", "gpt-4.1-mini"],
])("%s has the price of %s", (name, meant) => {
  expect(createPrices().cost(name, usage)).toBe(createPrices().cost(meant, usage));
  expect(createPrices().cost(name, usage)).toBeGreaterThan(0);
});

test("the price file's own entry for a prefixed name wins over the model that it names", () => {
  const prices = createPrices({ "gateway/gpt-6-luna": { input: 7, output: 7 } });

  expect(prices.cost("gateway/gpt-6-luna", usage)).toBe(7 * 1100);
});

test("a model without a known price has no cost", () => {
  expect(createPrices().cost("llama-4", usage)).toBeUndefined();
});

test("an operator's prices change only the models that they name", () => {
  const prices = createPrices({ "llama-4": { input: 1, output: 2 }, "gpt-6-luna": { input: 5, output: 5 } });

  expect(prices.cost("llama-4", usage)).toBe(1200);
  expect(prices.cost("gpt-6-luna", usage)).toBe(5500);
  expect(prices.cost("openai/gpt-6-luna-latest", usage)).toBe(5500);
  expect(prices.cost("claude-sonnet-5-5", usage)).toBe(2280);
});

test("prices passed in code are validated", () => {
  expect(() => createPrices({ x: { input: "cheap", output: 1 } } as never)).toThrow("Model x, input");
});
