import type { JsonObject } from "@patchbay/kit";
import { expect, test } from "vitest";
import { anthropicRequest } from "../src/anthropic.ts";
import { geminiRequest } from "../src/gemini.ts";
import { chatRequest } from "../src/openai-chat.ts";
import { responsesRequest } from "../src/openai-responses.ts";
import type { ModelFunction } from "@patchbay/engine/ports/model-provider";
import { recordedRequest } from "../../server/src/recording/request.ts";
import { asking, PING } from "./drive.ts";

const refund: ModelFunction = {
  name: "refund",
  description: "Refunds.",
  inputSchema: { type: "object", properties: { "order id": { type: "string" } } },
  effect: "write",
  examples: [{ "order id": "W1" }],
};
const asked = (model: string, functions = [PING, refund]) => asking(model, { functions });
const examplesIn = (body: JsonObject) => JSON.stringify(body).match(/"input_examples":.*?\]/g) ?? [];

test("Claude is sent examples with the names of the wire, on the models that take them", () => {
  const { body, parameters } = anthropicRequest(asked("claude-opus-5-5"));

  const [ping, tool] = body["tools"] as [JsonObject, JsonObject];
  const { properties } = tool["input_schema"] as { properties: object };
  const [example] = tool["input_examples"] as [JsonObject];
  expect(ping).not.toHaveProperty("input_examples");
  expect(example).toEqual(parameters.toWire("refund", { "order id": "W1" }));
  expect(Object.keys(example)).toEqual(Object.keys(properties));
  expect(examplesIn(anthropicRequest(asked("claude-sonnet-4-20250514")).body)).toEqual([]);
});

test("a gateway and other providers are sent no examples", () => {
  expect(examplesIn(anthropicRequest(asked("claude-opus-5-5"), { isOwn: false }).body)).toEqual([]);
  for (const { body } of [
    responsesRequest(asked("gpt-6-astra")),
    chatRequest(asked("gpt-5.2")),
    geminiRequest(asked("gemini-3-pro")),
  ])
    expect(JSON.stringify(body)).not.toContain("W1");
});

test("a recording is for other examples another one, and without examples the same as before", () => {
  const hashOf = (one: ModelFunction) => recordedRequest(asked("m", [one])).functions["refund"];
  const { examples: _, ...bare } = refund;

  expect(hashOf(refund)).not.toBe(hashOf(bare));
  expect(hashOf({ ...refund, examples: [{ "order id": "W2" }] })).not.toBe(hashOf(refund));
});
