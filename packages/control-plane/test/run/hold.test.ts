import { expect, test } from "vitest";
import { createPrices } from "../../src/models/prices.ts";
import type { ChosenModel, ModelRequest } from "../../src/ports/model-provider.ts";
import { mostExpensive } from "../../src/run/hold.ts";
import { scriptedModel } from "./scripted-model.ts";

const request: ModelRequest = {
  model: "claude-opus-5-5",
  system: "x".repeat(3_000),
  functions: [],
  messages: [{ role: "user", text: "y".repeat(300) }],
  maxTokens: 100,
  toolChoice: "auto",
  threadId: "thread",
  cacheKey: "thread",
};

function pricedAs(model: string, prices = createPrices()): ChosenModel {
  const chosen = scriptedModel([]).catalog.choose() as ChosenModel;
  return { ...chosen, model, cost: (usage) => prices.cost(model, usage) };
}

test("what is held for a turn covers one that writes its whole input to the provider's cache", () => {
  expect(mostExpensive(pricedAs("claude-opus-5-5"), request)).toEqual({
    micros: 1_100 * 4 * 1.25 + 100 * 20,
    inputTokens: 1_100,
  });
});

test("what is held covers a turn that writes nothing, where writes are cheaper than other input", () => {
  const prices = createPrices({ own: { input: 4, cacheWriteInput: 1, output: 20 } });

  expect(mostExpensive(pricedAs("own", prices), request)?.micros).toBe(1_100 * 4 + 100 * 20);
});

test("a model without a price has no most expensive turn", () => {
  expect(mostExpensive(pricedAs("llama-4"), request)).toBeUndefined();
});
