import { expect, test } from "vitest";
import { createPrices } from "@patchbay/models/prices";
import type { ChosenModel, Message, ModelFunction, ModelRequest } from "../../src/ports/model-provider.ts";
import { promptTokens } from "../../src/run/loop/compact.ts";
import { mostExpensive } from "../../src/run/loop/cost.ts";
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

function pricedAs(name: string, prices = createPrices(), inputRatio = 1) {
  const chosen = scriptedModel([]).catalog.choose() as ChosenModel;
  const model: ChosenModel = { ...chosen, model: name, cost: (usage) => prices.cost(name, usage) };
  return { model, inputRatio };
}

/** 1,000 for the system text, 100 for the query and 16 for its frame. */
const INPUT = 1_000 + 100 + 16;

test("a reservation covers a turn that writes all of its input to the provider's cache", () => {
  expect(mostExpensive(pricedAs("claude-opus-5-5"), request)).toEqual({
    micros: INPUT * 4 * 1.25 + 100 * 20,
    inputTokens: INPUT,
  });
});

test("a reservation covers a turn that writes nothing when writes are cheaper than other input", () => {
  const prices = createPrices({ own: { input: 4, cacheWriteInput: 1, output: 20 } });

  expect(mostExpensive(pricedAs("own", prices), request)?.micros).toBe(INPUT * 4 + 100 * 20);
});

test("a model without a price has no most expensive turn", () => {
  expect(mostExpensive(pricedAs("llama-4"), request)).toBeUndefined();
});

test("a reservation rises with the ratio by which the turn before exceeded its estimate", () => {
  expect(mostExpensive(pricedAs("claude-opus-5-5", createPrices(), 1.5), request)?.inputTokens).toBe(INPUT * 1.5);
});

test("a reservation covers names of functions, the provider's prompt for them, and the frame of each call", () => {
  const functions: ModelFunction[] = ["find", "x".repeat(62)].map((name) => ({
    name,
    description: "Finds.",
    inputSchema: {},
    effect: "read",
  }));
  const calls = [1, 2].map((id) => ({ id: `call_${id}`, name: "find", arguments: "{}" }));
  const results = calls.map(({ id, name }) => ({ callId: id, name, content: "abc", isError: false }));
  const messages: Message[] = [
    ...request.messages,
    { role: "assistant", text: "", calls },
    { role: "results", results },
  ];
  const tokens = (more: Partial<ModelRequest>) => promptTokens({ ...request, ...more });

  // Each function has 8 bytes more than its name.
  expect(tokens({ functions }) - INPUT).toBe(700 + 2 * 16 + Math.ceil((4 + 62 + 2 * 8) / 3));
  expect(tokens({ messages }) - INPUT).toBe(2 * 3 * 16 + Math.ceil((2 * 6 + 2 * 3) / 3));
});
