import { inspect } from "node:util";
import { expect, test } from "vitest";
import { anthropicRequest } from "../src/anthropic.ts";
import { geminiRequest } from "../src/gemini.ts";
import { chatRequest } from "../src/openai-chat.ts";
import { responsesRequest } from "../src/openai-responses.ts";
import { EXAMPLE_QUERIES, type Message, type ModelFunction } from "@patchbay/engine/ports/model-provider";
import { asking, ORDER_LOOKUP, PING } from "./drive.ts";

/** Arguments and a result in which JSON readers find half of a surrogate pair. */
const HALVED: Message[] = [
  { role: "user", text: "Where is it?" },
  { role: "assistant", text: "", calls: [{ id: "t1", name: "ping", arguments: String.raw`{"\ud83d":"\ude00"}` }] },
  { role: "results", results: [{ callId: "t1", name: "ping", content: String.raw`["\ud83d"]`, isError: false }] },
];

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [name, ...textsIn(member)]);
}

test.each([
  ["claude-opus-5-5", { type: "adaptive", display: "summarized" }],
  ["claude-something-new", { type: "adaptive", display: "summarized" }],
  ["claude-sonnet-4-6", { type: "adaptive", display: "summarized" }],
  ["claude-opus-4-5-20251101", { type: "enabled", budget_tokens: 4096 }],
  ["claude-haiku-4-5", { type: "enabled", budget_tokens: 4096 }],
  ["claude-sonnet-4-20250514", { type: "enabled", budget_tokens: 4096 }],
  ["claude-3-5-sonnet-20241022", undefined],
])("%s is asked to show its thoughts in the way it knows", (model, thinking) => {
  expect(anthropicRequest(asking(model)).body["thinking"]).toEqual(thinking);
});

test("a small token limit leaves no budget for thinking", () => {
  expect(anthropicRequest(asking("claude-haiku-4-5", { maxTokens: 2000 })).body["thinking"]).toBeUndefined();
});

test("a temperature is sent to the last Claude version that supports it, without thinking", () => {
  const { body, headers } = anthropicRequest(asking("claude-haiku-4-5", { temperature: 0.3 }));

  expect(body).toMatchObject({ temperature: 0.3 });
  expect(body["thinking"]).toBeUndefined();
  expect(headers).toEqual({ "anthropic-version": "2023-06-01" });
});

test("a temperature above Claude's maximum is lowered, with a warning", () => {
  const { body, warnings } = anthropicRequest(asking("claude-haiku-4-5", { temperature: 1.5 }));

  expect(body["temperature"]).toBe(1);
  expect(warnings).toEqual([expect.stringContaining("at most 1")]);
});

test("results and the following text are one message for Claude", () => {
  const { body } = anthropicRequest(
    asking("claude-sonnet-5-5", {
      messages: [
        { role: "user", text: "Where is it?" },
        { role: "assistant", text: " ", calls: [{ id: "t1", name: "ping", arguments: "not json" }] },
        { role: "results", results: [{ callId: "t1", name: "ping", content: "yes", isError: false }] },
        { role: "user", text: "Answer now." },
      ],
    }),
  );

  expect(body["messages"]).toEqual([
    { role: "user", content: [{ type: "text", text: "Where is it?", cache_control: { type: "ephemeral" } }] },
    { role: "assistant", content: [{ type: "tool_use", id: expect.any(String), name: "ping", input: {} }] },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: expect.any(String), content: "yes" },
        { type: "text", text: "Answer now." },
      ],
    },
  ]);
});

test("reasoning and its encrypted content are requested only from models that support them", () => {
  const reasoning = { reasoning: { summary: "auto" }, include: ["reasoning.encrypted_content"], store: false };

  expect(responsesRequest(asking("gpt-9-next")).body).toMatchObject(reasoning);
  expect(responsesRequest(asking("gpt-4.1-mini")).body).not.toHaveProperty("reasoning");
  expect(responsesRequest(asking("gpt-4.1-mini")).body).not.toHaveProperty("include");
});

test("a request to the Responses API never has fewer tokens than its minimum", () => {
  expect(responsesRequest(asking("gpt-4.1", { maxTokens: 1 })).body["max_output_tokens"]).toBe(16);
});

test("every turn of a thread has the same cache key", () => {
  expect(responsesRequest(asking("gpt-6.1-terra")).body["prompt_cache_key"]).toBe("key-1");
  expect(chatRequest(asking("gpt-4.1")).body["prompt_cache_key"]).toBe("key-1");
  expect(chatRequest(asking("qwen3")).body).not.toHaveProperty("prompt_cache_key");
  expect(anthropicRequest(asking("claude-sonnet-5-5")).body["cache_control"]).toEqual({ type: "ephemeral" });
});

/** Two earlier queries, then a run with two turns of calls. */
const EARLIER: Message[] = ["one", "two"].flatMap((name): Message[] => [
  { role: "user", text: name },
  { role: "assistant", text: `${name} answered`, calls: [] },
]);
const turn = (id: string): Message[] => [
  {
    role: "assistant",
    text: "",
    calls: [{ id, name: "ping", arguments: "{}" }],
    echo: {
      provider: "anthropic",
      model: "claude-sonnet-5-5",
      blocks: [
        { type: "thinking", thinking: id, signature: id },
        { type: "tool_use", id, name: "ping", input: {} },
      ],
    },
  },
  { role: "results", results: [{ callId: id, name: "ping", content: `result ${id}`, isError: false }] },
];

test.each([
  ["in a new thread", [{ role: "user", text: "now" }], 0, []],
  ["after the first turn of a run", [{ role: "user", text: "now" }, ...turn("a")], 0, ["now"]],
  ["after its second turn", [{ role: "user", text: "now" }, ...turn("a"), ...turn("b")], 0, ["result a"]],
  ["after one query", [...EARLIER.slice(0, 2), { role: "user", text: "now" }], 2, ["one answered"]],
  ["after two queries", [...EARLIER, { role: "user", text: "now" }], 4, ["one answered", "two answered"]],
  ["in a run after two queries", [...EARLIER, { role: "user", text: "now" }, ...turn("a")], 4, ["two answered", "now"]],
] as [string, Message[], number, string[]][])(
  "Claude caches the system text, the earlier queries and what was sent before, %s",
  (_, messages, earlierMessages, cached) => {
    const echoes = JSON.stringify(messages.flatMap((one) => (one.role === "assistant" ? (one.echo ?? []) : [])));

    const { body } = anthropicRequest(asking("claude-sonnet-5-5", { messages, earlierMessages }));

    expect(body).toMatchObject({ cache_control: { type: "ephemeral" } });
    expect(body["system"]).toEqual([
      { type: "text", text: "You are the desk of a shop.", cache_control: { type: "ephemeral" } },
    ]);
    const blocks = (body["messages"] as { content: Record<string, unknown>[] }[]).flatMap(({ content }) => content);
    const marked = blocks.filter((block) => "cache_control" in block);
    expect(marked.map(({ text, content }) => text ?? content)).toEqual(cached);
    // Opaque blocks are sent back unchanged.
    expect(JSON.stringify(messages.flatMap((one) => (one.role === "assistant" ? (one.echo ?? []) : [])))).toBe(echoes);
  },
);

test("Chat Completions sends the token limit under the name that the model supports", () => {
  expect(chatRequest(asking("openai/o4-mini")).body).toMatchObject({ max_completion_tokens: 8192 });
  expect(chatRequest(asking("llama-4")).body).toMatchObject({ max_tokens: 8192, messages: [{ role: "system" }, {}] });
  expect(chatRequest(asking("gpt-5")).body["messages"]).toMatchObject([{ role: "developer" }, {}]);
});

test("a model that calls functions in Chat Completions only without reasoning gets reasoning off and a temperature", () => {
  const { body, warnings } = chatRequest(asking("gpt-6-luna", { temperature: 1.2 }));

  expect(body).toMatchObject({ reasoning_effort: "none", temperature: 1.2 });
  expect(warnings).toEqual([]);
});

test("a function without arguments is declared to Gemini without a schema", () => {
  const { body } = geminiRequest(asking("gemini-3.8-flash"));

  expect(body.tools).toEqual([
    {
      functionDeclarations: [
        {
          name: "orders_find",
          description: ORDER_LOOKUP.description,
          parametersJsonSchema: { type: "object", properties: expect.anything(), required: ["id"] },
        },
        { name: "ping", description: PING.description },
      ],
    },
  ]);
});

test("an open object is declared to Gemini as one with any property", () => {
  const inputSchema = { type: "object", patternProperties: { "^[a-z]+$": { type: "integer" } }, minProperties: 1 };
  const respond: ModelFunction = { name: "respond", description: "Answers.", effect: "read", inputSchema };

  const { body } = geminiRequest(asking("gemini-3.8-flash", { functions: [respond], respond }));

  expect(body.tools).toEqual([
    {
      functionDeclarations: [
        {
          name: "respond",
          description: "Answers.",
          parametersJsonSchema: { ...inputSchema, properties: {}, additionalProperties: true },
        },
      ],
    },
  ]);
});

test("thoughts are requested only from Gemini models that think", () => {
  expect(geminiRequest(asking("gemini-2.0-flash")).body.generationConfig).toEqual({ maxOutputTokens: 8192 });
  expect(geminiRequest(asking("gemini-9-new")).body.generationConfig).toEqual({
    maxOutputTokens: 8192,
    thinkingConfig: { includeThoughts: true },
  });
});

test("calls that Gemini did not make have the documented signature on the first of each step", () => {
  const calls = ["a", "b"].map((id) => ({ id, name: "ping", arguments: "" }));
  const { body } = geminiRequest(asking("gemini-3.8-flash", { messages: [{ role: "assistant", text: "", calls }] }));

  expect(body.contents[0]?.parts).toEqual([
    {
      functionCall: { id: expect.any(String), name: "ping", args: {} },
      thoughtSignature: "skip_thought_signature_validator",
    },
    { functionCall: { id: expect.any(String), name: "ping", args: {} } },
  ]);
});

test("a call of respond is forced if the wire supports that, otherwise the model decides", () => {
  const forced = { respond: ORDER_LOOKUP, toolChoice: "respond" } as const;
  const choices = [
    anthropicRequest(asking("claude-opus-5-5", forced)).body["tool_choice"],
    anthropicRequest(asking("claude-haiku-4-5", { ...forced, temperature: 0 })).body["tool_choice"],
    responsesRequest(asking("gpt-6-astra", forced)).body["tool_choice"],
    chatRequest(asking("gpt-4.1", forced)).body["tool_choice"],
    chatRequest(asking("llama-4", forced)).body["tool_choice"],
    geminiRequest(asking("gemini-3.8-flash", forced)).body.toolConfig,
  ];

  expect(choices).toEqual([
    { type: "auto" }, // it thinks
    { type: "tool", name: "orders_find" },
    { type: "function", name: "orders_find" },
    { type: "function", function: { name: "orders_find" } },
    "auto",
    { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["orders_find"] } },
  ]);
});

test.each([
  ["Claude", anthropicRequest, "claude-sonnet-5-5"],
  ["the Responses API", responsesRequest, "gpt-6.1-terra"],
  ["the Chat Completions API", chatRequest, "gpt-4.1"],
  ["Gemini", geminiRequest, "gemini-3.8-flash"],
] as const)("example queries are not sent to %s", (_api, build, model) => {
  const request = build(asking(model, { [EXAMPLE_QUERIES]: ["Where is parcel 4711?"] }));

  expect(inspect(request, { depth: Infinity, showHidden: true })).not.toContain("4711");
});

test.each([
  ["Claude", () => anthropicRequest(asking("claude-sonnet-5-5", { messages: HALVED })).body],
  ["Gemini", () => geminiRequest(asking("gemini-3.8-flash", { messages: HALVED })).body],
  ["OpenAI's Responses", () => responsesRequest(asking("gpt-6.1-terra", { messages: HALVED })).body],
  ["OpenAI's Chat Completions", () => chatRequest(asking("gpt-4.1-mini", { messages: HALVED })).body],
])("escaped halves of surrogate pairs do not become texts of %s", (_, body) => {
  expect(textsIn(body()).filter((text) => !text.isWellFormed())).toEqual([]);
});
