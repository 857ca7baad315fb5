import { LIMITS, LocalEvent } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import { answerOf, USAGE, type FakeRun } from "./support/fake-runs.ts";
import { openSocket, requestText } from "./support/raw-socket.ts";
import { parseSse } from "./support/sse.ts";
import { ACCESS_TOKEN, API_KEY, RUNTIME_KEY, startHttp } from "./support/start-http.ts";

const LOCAL = "/agent/query-stream";
const token = { Authorization: `Bearer ${ACCESS_TOKEN}` };

describe("endpoint 3", () => {
  test("renames the events and nests their payload in data", async () => {
    await using http = await startHttp();
    http.runs.onBegin = (run) => {
      run.store({ type: "thought", content: "hm" });
      run.store({ type: "toolCall", toolName: "f", toolCallId: "c1", parameters: { a: 1 } });
      run.store({ type: "toolResult", toolName: "f", toolCallId: "c1", success: true, result: [1] });
      run.store({
        type: "toolResult",
        toolName: "g",
        toolCallId: "c2",
        success: false,
        errorMessage: "no",
        code: "denied",
      });
      const { result, event } = answerOf(run);
      run.end(result, { ...event, sessionId: "s" } as typeof event);
    };

    const response = await http.post(LOCAL, { query: "hi" }, token);
    const events = parseSse(await response.text());

    const [run] = http.runs.runs.values();
    expect(events.map(({ id }) => id)).toEqual(["1", "2", "3", "4", "5"]);
    const bodies = events.map(({ data }) => JSON.parse(data) as unknown);
    expect(bodies.map((body) => LocalEvent.parse(body))).toEqual(bodies);
    expect(bodies).toEqual([
      { type: "thinking", data: { content: "hm" } },
      { type: "function_call", data: { id: "c1", name: "f", arguments: { a: 1 } } },
      { type: "function_result", data: { id: "c1", name: "f", success: true, result: [1] } },
      { type: "function_result", data: { id: "c2", name: "g", success: false, error: "no" } },
      {
        type: "final_response",
        data: {
          response: "**done**",
          thread_id: run?.handle.threadId,
          run_id: run?.handle.runId,
          session_id: "s",
          execution_time_ms: 5,
          usage: USAGE,
        },
      },
    ]);
  });

  test("ends with an error event of message and code", async () => {
    await using http = await startHttp();
    http.runs.onBegin = (run) => {
      const { runId, threadId } = run.handle;
      run.end(answerOf(run).result, {
        type: "error",
        errorMessage: "Insufficient credits",
        code: "insufficient_credits",
        runId,
        threadId,
      });
    };
    const [event] = parseSse(await (await http.post(LOCAL, { query: "hi" }, token)).text());
    expect(JSON.parse(event!.data)).toEqual({
      type: "error",
      data: { message: "Insufficient credits", code: "insufficient_credits" },
    });
  });

  test("has the headers of endpoint 2", async () => {
    await using http = await startHttp();
    const response = await http.post(LOCAL, { query: "hi" }, token);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "x-run-id": expect.stringMatching(/^run_/),
      "x-thread-id": expect.stringMatching(/^thr_/),
    });
    await response.text();
  });

  test("asks by default with at most 8000 tokens, role user and no analysis mode, as the token's agent", async () => {
    await using http = await startHttp();
    await (await http.post(LOCAL, { query: " hi " }, token)).text();
    expect(http.runs.starts[0]).toMatchObject({
      caller: { agentId: "agent-1", keyId: `id-of-${ACCESS_TOKEN}` },
      query: { query: "hi", defaultMaxTokens: 8000, role: "user", analysisMode: false },
    });
    expect(http.runs.starts[0]?.query).not.toHaveProperty("maxTokens");
  });

  test("takes snake_case names, context as an object and llm_config", async () => {
    await using http = await startHttp();
    const llm = { provider: "openai", model: "m", maxTokens: 5, temperature: 1 };
    const sent = {
      query: "hi",
      role: "admin",
      analysis_mode: true,
      thread_id: "thr_1",
      session_id: "s",
      context: { a: 1 },
      llm_config: llm,
    };
    await (await http.post(LOCAL, sent, token)).text();
    expect(http.runs.starts[0]?.query).toEqual({
      query: "hi",
      role: "admin",
      analysisMode: true,
      threadId: "thr_1",
      sessionId: "s",
      context: { a: 1 },
      maxTokens: 5,
      defaultMaxTokens: 8000,
      llm,
      requestId: expect.any(String),
    });
  });

  test("lets max_tokens beat llm_config's maxTokens", async () => {
    await using http = await startHttp();
    const sent = { query: "hi", max_tokens: 7, llm_config: { provider: "openai", maxTokens: 5 } };
    await (await http.post(LOCAL, sent, token)).text();
    expect(http.runs.starts[0]?.query.maxTokens).toBe(7);
  });

  test.each([
    ["query", {}],
    ["max_tokens", { query: "hi", max_tokens: 0 }],
    ["max_tokens", { query: "hi", max_tokens: "8000" }],
    ["context", { query: "hi", context: "{}" }],
    ["context", { query: "hi", context: [] }],
    ["context", { query: "hi", context: { a: "x".repeat(LIMITS.contextBytes) } }],
    ["llm_config.provider", { query: "hi", llm_config: { provider: "offline" } }],
  ])("is 400 with the path %s when that is wrong (%#)", async (path, sent) => {
    await using http = await startHttp();
    const response = await http.post(LOCAL, sent, token);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "invalid_request", details: [{ path }] });
  });

  test.each([
    ["missing", {}],
    ["bad", { Authorization: "Bearer nobody" }],
    ["no Bearer token", { Authorization: ACCESS_TOKEN }],
    ["an API key", { Authorization: `Bearer ${API_KEY}` }],
    ["a runtime key", { Authorization: `Bearer ${RUNTIME_KEY}` }],
    ["sent as X-API-Key", { "X-API-Key": ACCESS_TOKEN }],
  ])("answers 401 'Authentication failed' when the token is %s", async (_what, headers) => {
    await using http = await startHttp();
    const response = await http.post(LOCAL, { query: "hi" }, headers);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ errorMessage: "Authentication failed" });
  });

  test.each([
    [true, ["response_delta", "thinking_delta", "function_progress", "final_response"]],
    [undefined, ["final_response"]],
  ])("with include_deltas %s sends the types %j", async (include_deltas, types) => {
    await using http = await startHttp();
    http.runs.onBegin = (run) => {
      run.show({ type: "responseDelta", content: "r" });
      run.show({ type: "thoughtDelta", content: "t" });
      run.show({ type: "toolProgress", toolCallId: "c", data: { done: 1 } });
      const { result, event } = answerOf(run);
      run.end(result, event);
    };
    const events = parseSse(await (await http.post(LOCAL, { query: "hi", include_deltas }, token)).text());
    const bodies = events.map(({ data }) => LocalEvent.parse(JSON.parse(data)));
    expect(bodies.map(({ type }) => type)).toEqual(types);
    if (include_deltas) expect(bodies[2]).toEqual({ type: "function_progress", data: { id: "c", data: { done: 1 } } });
  });

  test("writes keepalives too", async () => {
    await using http = await startHttp({ keepaliveMs: 10 });
    http.runs.onBegin = () => undefined;
    const response = await http.post(LOCAL, { query: "hi" }, token);
    const reader = response.body!.getReader();
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe(": keepalive\n\n");
    await reader.cancel();
  });

  test("never asks for a cancel when its reader goes", async () => {
    await using http = await startHttp();
    let run: FakeRun | undefined;
    http.runs.onBegin = (begun) => void (run = begun);
    const response = await http.post(LOCAL, { query: "hi" }, { ...token, "X-On-Disconnect": "cancel" });
    expect(run?.readers).toEqual([{ cancelWhenGone: false }]);
    await response.body?.cancel();
  });
});

describe("GET /agent/runs/{run_id}/events", () => {
  test("replays the same bytes", async () => {
    await using http = await startHttp();
    const first = await http.post(LOCAL, { query: "hi" }, token);
    const events = `/agent/runs/${first.headers.get("X-Run-Id")}/events`;
    const whole = await first.text();
    expect(await (await http.get(events, token)).text()).toBe(whole);
    expect((await http.get(events, { ...token, "Last-Event-ID": "1" })).status).toBe(204);
    expect((await http.get(events, { ...token, "Last-Event-ID": "x" })).status).toBe(400);
    expect((await http.get("/agent/runs/run_x/events", token)).status).toBe(404);
    expect((await http.get(events)).status).toBe(401);
  });
});

describe("pages of other sites", () => {
  const body = '{"query":"hi"}';
  async function ask(host: string, more: Record<string, string> = {}, deps: Parameters<typeof startHttp>[0] = {}) {
    await using http = await startHttp(deps);
    using socket = await openSocket(http.port);
    const headers = { ...token, ...more, "Content-Type": "application/json", "Content-Length": String(body.length) };
    socket.write(requestText("POST", LOCAL, { ...headers, Host: host, Connection: "close" }, body));
    return { received: await socket.closed(), starts: http.runs.starts.length };
  }

  test.each(["localhost:8787", "127.0.0.1", "127.9.9.9:1", "[::1]:8787", "LOCALHOST", "app.localhost"])(
    "the Host %s is served",
    async (host) => {
      expect((await ask(host)).received).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  test.each(["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8787", "10.0.0.1"])(
    "a name pointed at this machine (%s) is refused with advice",
    async (host) => {
      const { received, starts } = await ask(host);
      expect(received).toMatch(/^HTTP\/1\.1 400 /);
      expect(received).toContain("--host");
      expect(starts).toBe(0);
    },
  );

  test("the host of the public URL is served, and any when bound to an open address", async () => {
    expect((await ask("dev.example:1", {}, { publicUrl: "https://dev.example" })).received).toMatch(/^HTTP\/1\.1 200 /);
    expect((await ask("10.0.0.1", {}, { host: "0.0.0.0" })).received).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each([
    ["https://evil.example", 400, {}],
    ["null", 400, {}],
    ["http://localhost:8787", 200, {}],
    ["https://app.example", 200, { corsOrigins: ["https://app.example"] }],
  ])("the Origin %s gets %i", async (origin, status, deps) => {
    const { received } = await ask("localhost:8787", { Origin: origin }, deps);
    expect(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });
});
