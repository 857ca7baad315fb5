import { expect, test } from "vitest";
import { type Reasoning, REASONING } from "@patchbay/protocol";
import { type JsonObject } from "@patchbay/kit";
import { anthropicRequest } from "../src/anthropic.ts";
import { geminiRequest } from "../src/gemini.ts";
import { chatRequest } from "../src/openai-chat.ts";
import { responsesRequest } from "../src/openai-responses.ts";
import type { ModelRequest } from "@patchbay/engine/ports/model-provider";
import { asking } from "./drive.ts";

/** What a request says about reasoning on each wire. */
const WIRES = {
  anthropic(request: ModelRequest) {
    const { body, warnings } = anthropicRequest(request);
    const { thinking, output_config: config } = body as Record<string, JsonObject | undefined>;
    return { said: thinking?.["budget_tokens"] ?? config?.["effort"] ?? thinking?.["type"], warnings };
  },
  responses(request: ModelRequest) {
    const { body, warnings } = responsesRequest(request);
    return { said: (body["reasoning"] as JsonObject | undefined)?.["effort"], warnings };
  },
  chat(request: ModelRequest) {
    const { body, warnings } = chatRequest(request);
    return { said: body["reasoning_effort"], warnings };
  },
  gemini(request: ModelRequest) {
    const { body, warnings } = geminiRequest(request);
    const config = body.generationConfig["thinkingConfig"] as JsonObject | undefined;
    return { said: config?.["thinkingLevel"] ?? config?.["thinkingBudget"], warnings };
  },
};
type Wire = keyof typeof WIRES;

const EFFORTS = ["low", "medium", "high"];
const TABLE: [Wire, string, (string | number | undefined)[]][] = [
  ["anthropic", "claude-3-5-haiku-20241022", [undefined, undefined, undefined, undefined, undefined]],
  ["anthropic", "claude-haiku-4-5", [undefined, 1_024, 8_192, 24_576, 32_000]],
  ["anthropic", "claude-sonnet-4-6", ["disabled", ...EFFORTS, "max"]],
  ["anthropic", "claude-opus-5-20260301", ["disabled", ...EFFORTS, "max"]],
  ["anthropic", "claude-haiku-5-5", ["disabled", ...EFFORTS, "max"]],
  ["anthropic", "claude-sonnet-5-5", ["low", ...EFFORTS, "max"]],
  ["anthropic", "claude-something-new", ["low", ...EFFORTS, "max"]],
  ["responses", "gpt-4.1", [undefined, undefined, undefined, undefined, undefined]],
  ["responses", "o4-mini", ["low", ...EFFORTS, "high"]],
  ["responses", "gpt-5", ["low", ...EFFORTS, "high"]],
  ["responses", "gpt-5-mini-2025-08-07", ["low", ...EFFORTS, "high"]],
  ["responses", "gpt-5-pro", ["high", "high", "high", "high", "high"]],
  ["responses", "gpt-5.1", ["none", ...EFFORTS, "high"]],
  ["responses", "gpt-5.1-codex", ["low", ...EFFORTS, "high"]],
  ["responses", "gpt-5.1-codex-max", ["low", ...EFFORTS, "xhigh"]],
  ["responses", "gpt-5.4", ["none", ...EFFORTS, "xhigh"]],
  ["responses", "gpt-6.1-sol", ["low", ...EFFORTS, "xhigh"]],
  ["responses", "gpt-6.1-terra", ["none", ...EFFORTS, "xhigh"]],
  ["chat", "gpt-4.1-mini", [undefined, undefined, undefined, undefined, undefined]],
  ["chat", "gpt-5.1", ["none", ...EFFORTS, "high"]],
  ["chat", "gpt-6-luna", ["none", "none", "none", "none", "none"]],
  ["chat", "openai/gpt-oss-120b", ["none", ...EFFORTS, "high"]],
  ["gemini", "gemini-2.0-flash", [undefined, undefined, undefined, undefined, undefined]],
  ["gemini", "gemini-2.5-pro", [1_024, 1_024, 8_192, 24_576, 32_768]],
  ["gemini", "gemini-2.5-flash", [0, 1_024, 8_192, 24_576, 24_576]],
  ["gemini", "gemini-3-pro-preview", ["low", "low", "high", "high", "high"]],
  ["gemini", "gemini-3.8-flash", ["minimal", ...EFFORTS, "high"]],
  ["gemini", "gemini-4-argon", ["low", ...EFFORTS, "high"]],
];

test.each(TABLE)("%s: each level of %s", (wire, model, expected) => {
  const found = REASONING.map((reasoning) => WIRES[wire](asking(model, { reasoning, maxTokens: 60_000 })));

  expect(found.map(({ said }) => said)).toEqual(expected);
});

test.each(TABLE)("%s: without the setting, %s is asked as before", (wire, model) => {
  const { said, warnings } = WIRES[wire](asking(model));

  // Claude's own default, and the only level with which the model takes functions.
  if (!(wire === "anthropic" || (wire === "chat" && model === "gpt-6-luna"))) expect(said).toBeUndefined();
  expect(warnings).toEqual([]);
});

test.each<[Wire, string, Reasoning, RegExp]>([
  ["anthropic", "claude-3-5-haiku-20241022", "high", /has no reasoning, so llmConfig\.reasoning was not sent/],
  ["responses", "gpt-4.1", "low", /has no reasoning/],
  ["chat", "gpt-4.1-mini", "max", /has no reasoning/],
  ["gemini", "gemini-2.0-flash", "medium", /has no reasoning/],
  ["anthropic", "claude-sonnet-5-5", "none", /has no reasoning level none, so low was sent/],
  ["responses", "gpt-6.1-sol", "none", /no reasoning level none, so low was sent/],
  ["responses", "gpt-5-pro", "low", /no reasoning level low, so high was sent/],
  ["chat", "gpt-6-luna", "high", /no reasoning level high together with functions, so none was sent/],
  ["gemini", "gemini-3-pro-preview", "medium", /no reasoning level medium, so high was sent/],
])("%s: %s warns of the level %s", (wire, model, reasoning, warning) => {
  expect(WIRES[wire](asking(model, { reasoning })).warnings).toEqual([expect.stringMatching(warning)]);
});

test.each<[Wire, string, Reasoning]>([
  ["anthropic", "claude-3-5-haiku-20241022", "none"],
  ["anthropic", "claude-sonnet-5-5", "max"],
  ["responses", "gpt-4.1", "none"],
  ["responses", "gpt-6.1-terra", "max"],
  ["gemini", "gemini-2.5-flash", "none"],
  ["chat", "gpt-6-luna", "none"],
])("%s: %s does not warn of the level %s", (wire, model, reasoning) => {
  expect(WIRES[wire](asking(model, { reasoning })).warnings).toEqual([]);
});

test("a temperature is sent to a model of OpenAI that does not reason, and excludes Claude's reasoning", () => {
  const own = responsesRequest(asking("gpt-6.1-terra", { reasoning: "none", temperature: 0.2 }));
  const claude = anthropicRequest(asking("claude-sonnet-4-6", { reasoning: "high", temperature: 0.2 }));

  expect(own).toMatchObject({ body: { temperature: 0.2, reasoning: { effort: "none" } }, warnings: [] });
  expect(claude.body).not.toHaveProperty("output_config");
  expect(claude.warnings).toEqual([expect.stringContaining("no temperature while it reasons")]);
});

test("a budget leaves a quarter of maxTokens for the answer, and without room there is a warning", () => {
  const { body } = anthropicRequest(asking("claude-haiku-4-5", { reasoning: "high", maxTokens: 8_000 }));
  const small = anthropicRequest(asking("claude-haiku-4-5", { reasoning: "low", maxTokens: 1_200 }));

  expect(body["thinking"]).toEqual({ type: "enabled", budget_tokens: 6_000 });
  expect(small.body).not.toHaveProperty("thinking");
  expect(small.warnings).toEqual([expect.stringContaining("leaves no room for reasoning")]);
});
