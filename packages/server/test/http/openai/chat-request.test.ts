import { describe, expect, test } from "vitest";
import { type Conversation, parseChat } from "../../../src/query/openai/chat-request.ts";

const user = (content: unknown) => ({ role: "user", content });
const parsed = (body: object, conversation: Partial<Conversation> = {}) =>
  parseChat({ model: "agt_1", messages: [user("Hi")], ...body }, { agentId: "agt_1", ...conversation });
const queryOf = (...args: Parameters<typeof parsed>) => parsed(...args).query;

describe("the model", () => {
  test.each([
    ["agt_1", {}],
    ["agt_1:clerk", { role: "clerk" }],
    ["agt_1:team:north", { role: "team:north" }],
    ["agt_1:titles", { task: true }],
  ])("%s chooses the role or a task", (model, chosen) => {
    const { role, task } = queryOf({ model });

    expect({ ...(role && { role }), ...(task && { task }) }).toEqual(chosen);
  });

  test.each(["gpt-6.1", "agt_2", "agt_1:", "agt_12", "", `agt_1:${"x".repeat(201)}`])("%j does not exist", (model) => {
    expect(() => parsed({ model })).toThrow(expect.objectContaining({ code: "not_found" }));
  });

  test("is a task under the key's own name for it, which other keys do not have", () => {
    expect(queryOf({ model: "gpt-titles" }, { taskModel: "gpt-titles" }).task).toBe(true);
    expect(queryOf({}, { taskModel: "gpt-titles" })).not.toHaveProperty("task");
    expect(() => parsed({ model: "gpt-titles" })).toThrow(expect.objectContaining({ code: "not_found" }));
  });

  test("without a role has the role of the caller, and its own beats that one", () => {
    expect(queryOf({}, { role: "clerk" }).role).toBe("clerk");
    expect(queryOf({ model: "agt_1:chief" }, { role: "clerk" }).role).toBe("chief");
  });
});

describe("messages", () => {
  const HISTORY = [
    { role: "system", content: "Be brief." },
    user("One?"),
    { role: "assistant", content: "One." },
    { role: "tool", content: "forged", tool_call_id: "1" },
    { role: "developer", content: [{ type: "text", text: "Use metres." }] },
    user([
      { type: "text", text: " And " },
      { type: "text", text: "two? " },
    ]),
  ];

  test("become the query and, without a thread, the texts before it as quotes", () => {
    expect(queryOf({ messages: HISTORY })).toEqual({
      query: "And \ntwo?",
      analysisMode: false,
      quoted: [
        { from: "system", text: "Be brief." },
        { from: "user", text: "One?" },
        { from: "assistant", text: "One." },
        { from: "system", text: "Use metres." },
      ],
    });
  });

  test("of a thread are not read, but for the query and system texts", () => {
    const thread = { externalThread: { scope: "key", id: "chat-1234" } };

    expect(queryOf({ messages: HISTORY }, { thread })).toMatchObject({
      ...thread,
      query: "And \ntwo?",
      quoted: [
        { from: "system", text: "Be brief." },
        { from: "system", text: "Use metres." },
      ],
    });
  });

  test("above the limit are left out, oldest first, with a warning", () => {
    const messages = [
      { role: "system", content: "Be brief." },
      user("a"),
      ...[60_000, 60_000, 30_000].map((units) => user("b".repeat(units))),
      user("Hi"),
    ];

    const { quoted, warnings } = queryOf({ messages });

    expect(quoted?.map(({ text }) => text.length)).toEqual([9, 60_000, 30_000]);
    expect(warnings).toEqual([expect.stringContaining("The 2 oldest messages")]);
  });

  test("may have attachments before the last one", () => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } };

    expect(queryOf({ messages: [user([image]), user("Hi")] }).quoted).toEqual([
      { from: "user", text: "[image_url left out]" },
    ]);
  });

  test.each<[string, string, object]>([
    ["are empty", "messages", { messages: [] }],
    ["have no user", "messages", { messages: [{ role: "system", content: "Hi" }] }],
    ["end with an empty text", "messages.0.content", { messages: [user("  ")] }],
    ["end with a long text", "messages.0.content", { messages: [user("x".repeat(100_001))] }],
    ["have long system texts", "messages", { messages: [{ role: "system", content: "x".repeat(100_001) }, user("a")] }],
    [
      "end with an image",
      "messages.0.content.1",
      { messages: [user([{ type: "text", text: "a" }, { type: "image_url" }])] },
    ],
    ["have another role", "messages.0.role", { messages: [{ role: "robot", content: "a" }] }],
  ])("that %s are refused", (_, path, body) => {
    expect(() => parsed(body)).toThrow(
      expect.objectContaining({ code: "invalid_request", details: [expect.objectContaining({ path })] }),
    );
  });
});

describe("a background task", () => {
  const quoting = (...lines: string[]) => ({
    messages: [user(`Name it.\n<chat_history>\n${lines.join("\n")}\n</chat_history>`)],
  });

  test.each<[string, object]>([
    ["its model", { model: "agt_1:titles" }],
    ["tool_choice", { tool_choice: "none" }],
    ["the chat that it quotes", quoting("USER: refund it", "ASSISTANT: Done.")],
    ["a chat in Markdown", quoting("**User**: refund it", "**AI:** Done.")],
    ["a chat in JSON", quoting('[{"role": "user", "content": "a"}, {"role":"assistant","content":"b"}]')],
    ["a chat in tags", quoting("<human>refund it</human>", "<assistant>Done.</assistant>")],
  ])("is known by %s, and has no thread", (_, body) => {
    const query = queryOf(body, { thread: { threadId: "thr_1" } });

    expect(query.task).toBe(true);
    expect(query).not.toHaveProperty("threadId");
  });

  test.each<[string, object, Partial<Conversation>?]>([
    ["one side", quoting("USER: refund it", "USER: now")],
    ["names within a line", quoting("I asked the user: ask the assistant: done")],
    ["a chat that the client has as messages", { messages: [user("Hi"), ...quoting("USER: a", "AI: b").messages] }],
    ["a dialogue in the newest message of a thread", quoting("USER: a", "AI: b"), { sendsNewest: true }],
  ])("is not seen in %s", (_, body, conversation) => {
    expect(queryOf(body, conversation)).not.toHaveProperty("task");
  });

  test("is asked with its system texts, and quotes the earlier messages", () => {
    const messages = [{ role: "system", content: "Name it." }, user("One?"), user("Two?")];

    expect(queryOf({ model: "agt_1:titles", messages })).toMatchObject({
      query: "Name it.\n\nTwo?",
      quoted: [{ from: "user", text: "One?" }],
    });
  });
});

test("options become those of the query", () => {
  const schema = { type: "object", properties: { total: { type: "number" } } };
  const asked = parsed({
    temperature: 0.2,
    max_tokens: 7,
    max_completion_tokens: 9,
    user: "ada",
    n: null,
    stream: true,
    stream_options: { include_usage: true },
    response_format: { type: "json_schema", json_schema: { name: "sum", strict: true, schema } },
    tools: [{ type: "function" }],
    stop: ["\n"],
  });

  expect(asked).toEqual({
    query: {
      query: "Hi",
      analysisMode: false,
      temperature: 0.2,
      maxTokens: 9,
      sessionId: "ada",
      responseSchema: schema,
      warnings: ["tools was ignored: the agent calls the functions of its services only"],
    },
    form: { model: "agt_1", stream: true, includeUsage: true, asJson: true },
  });
  expect(queryOf({ response_format: { type: "json_object" } }).responseSchema).toMatchObject({ type: "object" });
  expect(parsed({ response_format: { type: "text" } }).form.asJson).toBe(false);
});

test.each([
  ["required", ["tool_choice was ignored: the agent calls the functions of its services only"]],
  [{ type: "function", function: { name: "a" } }, [expect.stringContaining("tool_choice was ignored")]],
  ["auto", undefined],
])("tool_choice %j cannot make the agent call a function, and has the warnings %j", (tool_choice, warnings) => {
  expect(queryOf({ tool_choice }).warnings).toEqual(warnings);
});

test.each<[string, object]>([
  ["n", { n: 2 }],
  ["temperature", { temperature: 3 }],
  ["max_tokens", { max_tokens: 0 }],
  ["user", { user: "x".repeat(201) }],
  [
    "response_format.json_schema.schema.type",
    { response_format: { type: "json_schema", json_schema: { schema: { type: "string" } } } },
  ],
])("%s is refused with its path", (path, body) => {
  expect(() => parsed(body)).toThrow(expect.objectContaining({ details: [expect.objectContaining({ path })] }));
});
