import { describe, expect, test } from "vitest";
import { scriptFor, startStandIn, type Wire, WIRES } from "@patchbay/test-support/providers";
import type { JsonObject } from "@patchbay/kit";
import { splitDescription } from "../src/capabilities.ts";
import { asking, PING, providerOf, turnOf } from "./drive.ts";

const LONG = Array.from({ length: 700 }, (_, at) => `word${at}`).join(" ");
const PARAMETERS: JsonObject = {
  type: "object",
  description: "What to look for.",
  properties: { q: { type: "string" } },
};

const MODELS: Record<Wire, string> = {
  anthropic: "claude-sonnet-5-5",
  "openai-responses": "gpt-6.1-terra",
  "openai-chat": "qwen3",
  gemini: "gemini-3.8-flash",
};

describe.each(WIRES)("%s", (wire) => {
  test("receives every word of a long description, in texts that it takes", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ text: "ok" }));
    const functions = [{ ...PING, description: LONG, inputSchema: PARAMETERS }];

    await turnOf(providerOf(standIn), asking(MODELS[wire], { functions }));

    const [request] = standIn.requests;
    expect(request?.refusal).toBeUndefined();
    const sent = JSON.stringify(request?.body);
    expect(LONG.split(" ").filter((word) => !sent.includes(word))).toEqual([]);
    expect(sent).toContain("What to look for.");
  });
});

test.each([
  ["a short text", "Finds an order.", ["Finds an order."]],
  ["the longest text", "x".repeat(1_024), ["x".repeat(1_024)]],
  ["a text without spaces", "x".repeat(1_030), ["x".repeat(1_024), "xxxxxx"]],
  ["a text with words", `${"x".repeat(1_000)} ${"y".repeat(30)}`, ["x".repeat(1_000), "y".repeat(30)]],
  ["a character at the limit", `${"x".repeat(1_023)}\u{1f600}z`, ["x".repeat(1_023), "\u{1f600}z"]],
])("%s is divided at the end of a word, and not within a character", (_, text, parts) => {
  expect(splitDescription(text)).toEqual(parts);
});
