import { describe, expect, test } from "vitest";
import { callThenAnswer, startStandIn, WIRES, type Wire } from "@patchbay/test-support/providers";
import { createModelCatalog } from "../src/catalog.ts";
import { failureContract } from "./contract-failures.ts";
import { streamContract } from "./contract-streams.ts";
import { turnContract } from "./contract-turns.ts";
import { asking, continued, essence, turnOf, type WireTraits } from "./drive.ts";

const ADAPTERS: readonly WireTraits[] = [
  {
    wire: "anthropic",
    model: "claude-sonnet-5-5",
    takesTemperature: "claude-haiku-4-5",
    takesNoTemperature: "claude-opus-5-5",
    seesCutCalls: true,
    quota: { status: 429, code: "enforced_spend_limit_reached" },
    tooLong: { status: 400, message: "prompt is too long: 210000 tokens > 200000 maximum" },
    retryAfter: { status: 429, headers: { "retry-after": "2.5" } },
  },
  {
    wire: "openai-responses",
    model: "gpt-6.1-terra",
    takesTemperature: "gpt-4.1-mini",
    takesNoTemperature: "gpt-6.1-terra",
    seesCutCalls: true,
    quota: { status: 429, code: "insufficient_quota" },
    tooLong: { status: 400, code: "context_length_exceeded" },
    retryAfter: { status: 429, headers: { "retry-after-ms": "2500", "retry-after": "3" } },
  },
  {
    wire: "openai-chat",
    model: "qwen3",
    takesTemperature: "gpt-4.1-mini",
    takesNoTemperature: "gpt-5-mini",
    seesCutCalls: true,
    quota: { status: 429, code: "insufficient_quota" },
    tooLong: { status: 400, message: "This model's maximum context length is 8192 tokens." },
    retryAfter: { status: 429, headers: { "retry-after": "2.5" } },
  },
  {
    wire: "gemini",
    model: "gemini-3.8-flash",
    takesTemperature: "gemini-2.5-flash",
    takesNoTemperature: "gemini-4-argon",
    seesCutCalls: false,
    quota: {
      status: 429,
      details: [{ violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }] }],
    },
    tooLong: { status: 400, message: "The input token count (1200000) exceeds the maximum number of tokens allowed." },
    retryAfter: {
      status: 429,
      details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "2.5s" }],
    },
  },
];

// Requirements of every adapter of a model provider, over its real wire format.
describe.each(ADAPTERS)("$wire", (traits) => {
  turnContract(traits);
  streamContract(traits);
  failureContract(traits);
});

async function lookUp(wire: Wire) {
  const script = callThenAnswer([{ name: "orders.find", arguments: { id: "7" } }, { name: "ping" }]);
  await using standIn = await startStandIn(wire, script);
  const chosen = createModelCatalog(standIn.config).choose();
  if ("missing" in chosen) throw new Error("not configured");
  const asked = asking(chosen.model);

  const first = await turnOf(chosen.provider, asked);
  const results = continued(first, { content: '{"open":true}', isError: false });
  const second = await turnOf(chosen.provider, { ...asked, messages: [...asked.messages, ...results] });
  return [essence(first), essence(second)];
}

test("a run has the same turns on every wire, each with its default model", async () => {
  const [first, ...others] = await Promise.all(WIRES.map(lookUp));

  expect(first?.[1]?.text).toBe('{"open":true}\n{"open":true}');
  for (const other of others) expect(other).toEqual(first);
});
