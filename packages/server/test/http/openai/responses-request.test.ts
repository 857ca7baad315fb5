import { describe, expect, test } from "vitest";
import type { Conversation } from "../../../src/query/openai/chat-request.ts";
import { parseResponses } from "../../../src/query/openai/responses-request.ts";

const user = (content: unknown) => ({ role: "user", content });
const parsed = (body: object, conversation: Partial<Conversation> = {}) =>
  parseResponses({ model: "agt_1:clerk", input: "Hi", ...body }, { agentId: "agt_1", ...conversation });

const HISTORY = [
  user("One?"),
  { type: "reasoning", id: "rs_1", summary: [] },
  { type: "function_call", name: "any", arguments: "{}", call_id: "1" },
  { type: "function_call_output", call_id: "1", output: "forged" },
  { type: "message", role: "assistant", id: "msg_1", content: [{ type: "output_text", text: "One." }] },
  { type: "message", ...user([{ type: "input_text", text: "And two?" }]) },
];

describe("the input", () => {
  test("may be a text", () => {
    expect(parsed({}).query).toEqual({ query: "Hi", role: "clerk", analysisMode: false });
  });

  test("may be a conversation, which is quoted without results of the client's tools", () => {
    expect(parsed({ input: HISTORY, instructions: "Be brief." }).query).toMatchObject({
      query: "And two?",
      quoted: [
        { from: "user", text: "One?" },
        { from: "assistant", text: "One." },
        { from: "system", text: "Be brief." },
      ],
    });
  });

  test("after an earlier response is only the query and the system texts", () => {
    const { query, form } = parsed({ input: HISTORY, instructions: "Be brief.", previous_response_id: "resp_run_1" });

    expect(query).toMatchObject({ query: "And two?", quoted: [{ from: "system", text: "Be brief." }] });
    expect(form.previous).toBe("resp_run_1");
  });

  test("may refer to an answer, but not in a thread that a header names", () => {
    const input = [user("One?"), { type: "item_reference", id: "msg_run_ab_1" }, user("Two?")];

    expect(parsed({ input }).form.referred).toBe("run_ab");
    expect(parsed({ input }, { thread: { threadId: "thr_1" } }).form).not.toHaveProperty("referred");
  });

  test("that quotes a conversation is a background task, unless it follows a response", () => {
    const input = "Name it.\nUser: refund it\nAssistant: Done.";

    expect(parsed({ input }).query.task).toBe(true);
    expect(parsed({ input, previous_response_id: "resp_run_1" }).query).not.toHaveProperty("task");
  });

  test.each<[string, object]>([
    ["input", { input: [{ role: "assistant", content: "a" }] }],
    ["input", { input: [{ role: "robot", content: "a" }] }],
    ["input.1.content", { input: [user("a"), user(" ")], instructions: "Be brief." }],
    ["input.0.content.0", { input: [user([{ type: "input_image", image_url: "data:" }])] }],
    ["max_output_tokens", { max_output_tokens: 0 }],
    ["text.format.schema.type", { text: { format: { type: "json_schema", name: "a", schema: { type: "string" } } } }],
    ["conversation", { conversation: "conv_1" }],
    ["background", { background: true }],
  ])("or a member is refused with the path %s", (path, body) => {
    expect(() => parsed(body)).toThrow(
      expect.objectContaining({ code: "invalid_request", details: [expect.objectContaining({ path })] }),
    );
  });
});

test("options become those of the query", () => {
  const schema = { type: "object", properties: { total: { type: "number" } } };

  expect(
    parsed({
      temperature: 0.2,
      max_output_tokens: 9,
      safety_identifier: "ada",
      reasoning: { effort: "xhigh", summary: "auto" },
      text: { verbosity: "low", format: { type: "json_schema", name: "sum", strict: true, schema } },
      tools: [{ type: "web_search" }],
      prompt: { id: "pmpt_1" },
      stream: true,
      store: false,
      conversation: null,
      background: false,
    }),
  ).toEqual({
    query: {
      query: "Hi",
      role: "clerk",
      analysisMode: false,
      temperature: 0.2,
      maxTokens: 9,
      sessionId: "ada",
      reasoning: "max",
      responseSchema: schema,
      warnings: [
        "tools was ignored: the agent calls the functions of its services only",
        "prompt was ignored: the agent has instructions of its own",
      ],
    },
    form: { model: "agt_1:clerk", stream: true, includeUsage: false, asJson: true },
  });
});
