import OpenAI, { AuthenticationError, PermissionDeniedError } from "openai";
import { describe, expect, test } from "vitest";
import { LIMITS } from "@patchbay/protocol";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import type { Credential } from "@patchbay/engine/ports/store/stores";
import { USAGE } from "../../../../control-plane/test/sample-answer.ts";
import { answerOf, type FakeRun } from "../support/fake-runs.ts";
import { API_KEY, startHttp } from "../support/start-http.ts";

const BASE = "/agents/agent-1/v1";
const CHAT = `${BASE}/chat/completions`;
const MODEL = "agent-1";
const messages = [{ role: "user" as const, content: "Hi" }];

async function start(...args: Parameters<typeof startHttp>) {
  const http = await startHttp(...args);
  const client = new OpenAI({ baseURL: http.url + BASE, apiKey: API_KEY, maxRetries: 0 });
  return {
    ...http,
    client,
    ask: (headers: Record<string, string> = {}, body: object = {}) =>
      client.chat.completions.create({ model: MODEL, messages, ...body }, { headers }).withResponse(),
    /** The query of the last run. */
    asked: () => http.runs.starts.at(-1)!.query,
  };
}

describe("models", () => {
  test("are the agent, its roles and its background tasks", async () => {
    await using http = await start();

    const { data } = await http.client.models.list();

    expect(data).toEqual(
      ["agent-1", "agent-1:clerk", "agent-1:chief", "agent-1:titles"].map((id) => ({
        id,
        object: "model",
        created: 0,
        owned_by: "Desk",
      })),
    );
  });

  test("are those of the key, whatever role the header has as a default", async () => {
    const pinned = { credentialId: "key_1", kind: "api", agentId: "agent-1", orgId: "org-1", tier: "sandbox" };
    const roles = ["clerk", "guest"];
    await using http = await start();
    await using narrow = await start({ authenticate: async () => ({ ...pinned, roles }) as Credential });
    const listed = async ({ client }: typeof http) => {
      const { data } = await client.models.list({ headers: { "X-Patchbay-Role": "clerk" } });
      return data.map(({ id }) => id);
    };

    expect(await listed(http)).toEqual(["agent-1", "agent-1:clerk", "agent-1:chief", "agent-1:titles"]);
    expect(await listed(narrow)).toEqual(["agent-1", "agent-1:clerk", "agent-1:guest", "agent-1:titles"]);
  });

  test("are read one by one", async () => {
    await using http = await start();

    expect(await http.client.models.retrieve("agent-1:clerk")).toMatchObject({ id: "agent-1:clerk", owned_by: "Desk" });
    await expect(http.client.models.retrieve("gpt-6.1")).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
    });
  });

  test("have a limit of their own, and count as no query", async () => {
    const refusing = { allowed: false, limit: 600, remaining: 0, resetSeconds: 7 };
    await using http = await start({ adapterLimit: async () => refusing });

    await expect(http.client.models.list()).rejects.toMatchObject({
      status: 429,
      code: "rate_limit_exceeded",
      message: expect.stringContaining("600 requests a minute"),
    });
    await http.ask();
    expect(http.counts).toEqual(["chat-completions accepted"]);
  });
});

describe("a completion", () => {
  test("is the answer of a run, which its headers name", async () => {
    await using http = await start();

    const { data, response } = await http.ask({
      "X-Patchbay-Context": Buffer.from('{"shop":7}').toString("base64url"),
    });

    expect(data.choices[0]).toMatchObject({
      message: { role: "assistant", content: "**done**" },
      finish_reason: "stop",
    });
    expect(data.usage).toMatchObject({ total_tokens: USAGE.inputTokens + USAGE.outputTokens });
    expect(data.id).toBe(`chatcmpl-${response.headers.get("X-Run-Id")}`);
    expect(http.asked()).toMatchObject({
      query: "Hi",
      context: { shop: 7 },
      cancelWhenGone: true,
      analysisMode: false,
    });
  });

  test.each([
    [{}, `${MODEL}:chief`, "chief"],
    [{ "X-Patchbay-Role": "clerk" }, `${MODEL}:chief`, "chief"],
    [{ "X-Patchbay-Role": "clerk" }, MODEL, "clerk"],
    [{ "X-Patchbay-Role": "stranger" }, MODEL, "stranger"],
    [{}, MODEL, undefined],
  ])("with the headers %j and the model %s runs as %s", async (headers, model, role) => {
    await using http = await start();

    await http.ask(headers, { model });

    expect(http.asked().role).toBe(role);
    // The key is not pinned, and a header does not make it so.
    expect(http.runs.starts.at(-1)!.caller).not.toHaveProperty("roles");
  });

  test("that is repeated with its Idempotency-Key joins the run", async () => {
    await using http = await start();
    const headers = { "Idempotency-Key": "once" };

    const [first, second] = [await http.ask(headers), await http.ask(headers)];

    expect(second.response.headers.get("X-Run-Id")).toBe(first.response.headers.get("X-Run-Id"));
    expect(http.runs.starts).toHaveLength(1);
  });

  test.each<[string, string]>([
    ["X-Patchbay-Context", Buffer.from('{"customerId":"c_2"}').toString("base64url")],
    ["X-Patchbay-Thread", "another-chat"],
  ])("that is repeated with another %s is refused", async (header, value) => {
    await using http = await start();
    const headers = { "Idempotency-Key": "once" };
    await http.ask(headers);

    await expect(http.ask({ ...headers, [header]: value })).rejects.toMatchObject({ status: 422 });
  });

  test("may have a body of 4 MiB", async () => {
    await using http = await start();
    const earlier = { role: "user", content: "x".repeat(3 * 1_048_576) };

    expect((await http.post(CHAT, { model: MODEL, messages: [earlier, ...messages] })).status).toBe(200);
    const padding = "x".repeat(LIMITS.chatBodyBytes);
    const response = await http.post(CHAT, { model: MODEL, messages: [{ ...earlier, content: padding }, ...messages] });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({
      error: { code: "payload_too_large", message: expect.stringContaining("4194304") },
    });
  });
});

describe("the thread", () => {
  test.each<[string, Record<string, string>]>([
    ["X-Patchbay-Thread", { "X-Patchbay-Thread": "my-chat-1", "X-OpenWebUI-Chat-Id": "open-chat-1" }],
    ["X-OpenWebUI-Chat-Id", { "X-OpenWebUI-Chat-Id": "my-chat-1", "X-Conversation-Id": "libre-chat-1" }],
    ["X-Conversation-Id", { "X-OpenWebUI-Chat-Id": "{{CHAT_ID}}", "X-Conversation-Id": "my-chat-1" }],
  ])("has the id in %s, in the scope of the key", async (_, headers) => {
    await using http = await start();

    await http.ask(headers);

    expect(http.asked().externalThread).toEqual({ scope: `id-of-${API_KEY}`, id: "my-chat-1" });
  });

  test.each(["new", "NULL", "undefined", "{{LIBRECHAT_BODY_CONVERSATIONID}}", "", "short-1"])(
    "is new for the value %j, which the client has not filled in",
    async (value) => {
      await using http = await start();

      await http.ask({ "X-Conversation-Id": value });

      expect(http.asked()).not.toHaveProperty("externalThread");
    },
  );

  test("may be one of Patchbay in X-Patchbay-Thread, and only there", async () => {
    await using http = await start();
    const threadId = `thr_${"0".repeat(32)}`;

    await http.ask({ "X-Patchbay-Thread": threadId });
    expect(http.asked()).toMatchObject({ threadId });
    await http.ask({ "X-Conversation-Id": threadId });
    expect(http.asked()).toMatchObject({ externalThread: { id: threadId } });
    await expect(http.ask({ "X-Conversation-Id": "x".repeat(201) })).rejects.toMatchObject({
      status: 400,
      param: "X-Conversation-Id",
    });
  });
});

test.each([
  ["X-OpenWebUI-Chat-Id", true],
  ["X-Conversation-Id", true],
  ["X-Patchbay-Thread", undefined],
])("a message that quotes a chat, of a client with the header %s, is a background task: %s", async (header, task) => {
  await using http = await start();
  const content = "Find a title:\nUSER: Refund it\nASSISTANT: Done.";

  await http.ask({ [header]: "my-chat-1" }, { messages: [{ role: "user", content }] });

  expect(http.asked().task).toBe(task);
});

describe("a stream", () => {
  const stream = { stream: true as const };

  test("has parts of the answer as they are written", async () => {
    await using http = await start();
    http.runs.onBegin = (run) => {
      run.show({ type: "responseDelta", content: "**do" });
      run.show({ type: "responseDelta", content: "ne**" });
      const { result, event } = answerOf(run);
      run.end(result, event);
    };
    const parts: string[] = [];

    for await (const { choices } of await http.client.chat.completions.create({ model: MODEL, messages, ...stream }))
      parts.push(choices[0]?.delta.content ?? "");

    expect(parts).toEqual(["", "**do", "ne**", ""]);
  });

  test("that the client aborts lets its run be cancelled", async () => {
    await using http = await start();
    const begun = Promise.withResolvers<FakeRun>();
    http.runs.onBegin = begun.resolve;

    const answer = await http.client.chat.completions.create({ model: MODEL, messages, ...stream });
    const run = await begun.promise;
    expect(run.readers).toEqual([{ cancelWhenGone: true }]);
    answer.controller.abort();

    await run.until(({ readers }) => readers.length === 0);
    expect(http.asked().cancelWhenGone).toBe(true);
  });
});

describe("a failure", () => {
  test.each<[string, number, string, Promise<unknown> | object]>([
    ["an unknown model", 404, "model_not_found", { model: "gpt-6.1" }],
    ["a role that nothing names", 404, "model_not_found", { model: `${MODEL}:stranger` }],
    ["two choices", 400, "invalid_request", { n: 2 }],
    [
      "an image",
      400,
      "invalid_request",
      { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "x" } }] }] },
    ],
  ])("for %s has status %i and code %s", async (_, status, code, body) => {
    await using http = await start();

    for (const headers of [{}, { "X-Patchbay-Role": "clerk" }])
      await expect(http.ask(headers, body)).rejects.toMatchObject({ status, code, type: "invalid_request_error" });
    expect(http.runs.starts).toEqual([]);
  });

  test("for a wrong key is an AuthenticationError", async () => {
    await using http = await start();
    const client = new OpenAI({ baseURL: http.url + BASE, apiKey: "service_live_wrong", maxRetries: 0 });

    const error = await client.models.list().catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ status: 401, code: "invalid_api_key", requestID: expect.stringMatching(/^req_/) });
  });

  test("for another role of a pinned key is a PermissionDeniedError, and names the part of the request", async () => {
    await using http = await start();
    http.runs.onStart = () => {
      throw new ServiceError("role_not_allowed", "Role not allowed for this key");
    };
    await expect(http.ask({}, { model: `${MODEL}:chief` })).rejects.toThrow(PermissionDeniedError);

    const details = [{ path: "contextJson.shop", message: "must be a number" }];
    http.runs.onStart = () => {
      throw new ServiceError("invalid_request", "Invalid request: contextJson.shop: must be a number", { details });
    };
    await expect(http.ask()).rejects.toMatchObject({
      status: 400,
      param: "X-Patchbay-Context.shop",
      message: expect.stringContaining("Invalid request: X-Patchbay-Context.shop: must be a number"),
    });
  });

  test("that is not for clients is logged, and its message is not sent", async () => {
    await using http = await start();
    http.runs.onStart = () => {
      throw new Error("secret detail");
    };

    await expect(http.ask()).rejects.toMatchObject({ status: 500, code: "internal", type: "server_error" });
    expect(JSON.stringify(http.lines)).toContain("secret detail");
    const response = await http.post(CHAT, { model: MODEL, messages });
    expect(await response.text()).not.toContain("secret detail");
  });
});
