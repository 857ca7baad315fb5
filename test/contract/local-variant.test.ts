import { LocalEvent } from "@patchbay/protocol";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { describe, expect, test } from "vitest";
import { callThenAnswer, scriptFor, type Script } from "@patchbay/test-support/providers";
import { parseSse } from "@patchbay/test-support/sse";
import { startContractSystem, type ContractSystem } from "./contract-system.ts";

const answering = scriptFor({ text: "Hello." });

const working: Script = ({ step }) =>
  step === 0
    ? {
        thoughts: ["I look it up."],
        calls: [
          { name: "look_up", arguments: { id: "1" } },
          { name: "report" },
          { name: "fail", arguments: { kindly: true } },
        ],
      }
    : { text: "It is there." };

const ask = (system: ContractSystem, headers: Record<string, string>, body: object = { query: "hi" }) =>
  fetch(`${system.url}/agent/query-stream`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

const local = (system: ContractSystem) => ({ authorization: `Bearer ${system.accessToken}` });

test("is served only in development, where one process runs everything", async () => {
  await using system = await startContractSystem(answering, { local: false });
  expect((await ask(system, local(system))).status).toBe(404);
});

describe("data members", () => {
  test("thinking {content}; function_call {id, name, arguments}; function_result {id, name, success, result?, error?}", async () => {
    await using system = await startContractSystem(working, { wire: "anthropic" });

    const { events } = await system.local("hi");

    const of = (type: string) => events.filter(({ data }) => data.type === type).map(({ data }) => data.data);
    expect(of("thinking")).toEqual([{ content: "I look it up." }]);
    const [lookUp, report, fail] = of("function_call");
    expect(lookUp).toEqual({ id: expect.any(String), name: "look_up", arguments: { id: "1" } });
    const results = of("function_result");
    expect(results).toContainEqual({
      id: lookUp?.["id"],
      name: "look_up",
      success: true,
      result: { id: "1", found: true },
    });
    expect(results).toContainEqual({ id: report?.["id"], name: "report", success: true, result: "reported" });
    expect(results).toContainEqual({
      id: fail?.["id"],
      name: "fail",
      success: false,
      error: "The shop is closed.",
    });
    for (const { data } of events) expect(Object.keys(data)).toEqual(["type", "data"]);
    for (const { data } of events) expect(LocalEvent.parse(data)).toEqual(data);
  });

  test("final_response {response, thread_id, run_id, session_id?, execution_time_ms, usage}", async () => {
    await using system = await startContractSystem(answering);

    const { events, headers } = await system.local("hi", { session_id: "s-1" });

    expect(events.map(({ data }) => data)).toEqual([
      {
        type: "final_response",
        data: {
          response: "Hello.",
          thread_id: headers.get("X-Thread-Id"),
          run_id: headers.get("X-Run-Id"),
          session_id: "s-1",
          execution_time_ms: expect.any(Number),
          usage: {
            inputTokens: expect.any(Number),
            outputTokens: expect.any(Number),
            cachedInputTokens: expect.any(Number),
            cacheWriteInputTokens: expect.any(Number),
            costUsd: expect.any(Number),
          },
        },
      },
    ]);
    expect((await system.local("hi")).events[0]?.data.data).not.toHaveProperty("session_id");
  });

  test("error {message, code}", async () => {
    await using system = await startContractSystem(answering, { connected: false });
    expect((await system.local("hi")).events.map(({ data }) => data)).toEqual([
      { type: "error", data: { message: "Agent session not found", code: "agent_session_not_found" } },
    ]);
  });

  test("with include_deltas: response_delta, thinking_delta {content}, function_progress {id, data}", async () => {
    await using system = await startContractSystem(working, { wire: "anthropic" });

    const { events } = await system.local("hi", { include_deltas: true });

    const live = events.filter(({ id }) => id === undefined).map(({ data }) => data);
    const text = (type: string) => live.filter((event) => event.type === type).map(({ data }) => data["content"]);
    expect(text("thinking_delta").join("")).toBe("I look it up.");
    expect(text("response_delta").join("")).toBe("It is there.");
    const call = events.find(({ data }) => data.data["name"] === "report")?.data.data;
    expect(live).toContainEqual({ type: "function_progress", data: { id: call?.["id"], data: { percent: 50 } } });
    const plain = await system.local("hi");
    expect(plain.events.every(({ id }) => id !== undefined)).toBe(true);
  });
});

describe("the body", () => {
  test("defaults on the server: max_tokens 8000, role user, analysis_mode false", async () => {
    await using system = await startContractSystem(callThenAnswer([{ name: "look_up", arguments: { id: "1" } }]));
    await system.local("hi");
    expect(system.sent()[0]).toMatchObject({ maxTokens: 8000 });
    expect(system.desk.handled[0]?.role).toBe("user");
    expect(system.standIn.requests).toHaveLength(2); // no plan
  });

  test("takes thread_id, session_id, context (object), llm_config; max_tokens overrides its maxTokens", async () => {
    await using system = await startContractSystem(callThenAnswer([{ name: "look_up", arguments: { id: "1" } }]));
    const first = await system.local("first");
    const threadId = first.headers.get("X-Thread-Id");
    const llm = { provider: "openai", model: "gpt-4.1-mini", maxTokens: 50, temperature: 0.25 };

    const next = await system.local("next", {
      thread_id: threadId,
      session_id: "s-1",
      context: { customer: "c-1" },
      role: "support",
      llm_config: llm,
      max_tokens: 60,
    });
    await system.local("last", { thread_id: threadId, llm_config: llm });

    expect(next.headers.get("X-Thread-Id")).toBe(threadId);
    const requests = system.sent().filter(({ step }) => step === 0);
    expect(requests.map(({ maxTokens, temperature }) => [maxTokens, temperature])).toEqual([
      [8000, undefined],
      [60, 0.25],
      [50, 0.25],
    ]);
    expect(requests[2]?.messages.map(({ text }) => text)).toContain("first"); // the same conversation
    expect(system.desk.handled[1]).toMatchObject({
      role: "support",
      context: { customer: "c-1" },
      threadId,
      sessionId: "s-1",
    });
  });

  test("analysis_mode equals analysisMode, and every reasoning block is emitted", async () => {
    const planning: Script = (_, turn) =>
      turn === 1 ? { thoughts: ["First.", "Second."], text: "1. Greet." } : { thoughts: ["Third."], text: "Hello." };
    await using system = await startContractSystem(planning, { wire: "anthropic" });

    const { events } = await system.local("hi", { analysis_mode: true });

    expect(events.map(({ data }) => data.data["content"] ?? data.data["response"])).toEqual([
      "First.",
      "Second.",
      "1. Greet.",
      "Third.",
      "Hello.",
    ]);
    expect(system.sent()[0]?.toolChoice).toBe("none");
  });

  test("is 400 with faults that use the property names of this body", async () => {
    await using system = await startContractSystem(answering);
    const response = await ask(system, local(system), { query: "hi", max_tokens: 0, context: "{}" });
    expect(response.status).toBe(400);
    const { details } = (await response.json()) as { details: { path: string }[] };
    expect(details.map(({ path }) => path).sort()).toEqual(["context", "max_tokens"]);
  });
});

test("a context that violates the service's schema and an unknown thread are 400 with the property names of this body", async () => {
  const schema = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
  const look = defineFunction({
    name: "look",
    description: "Looks.",
    input: schema,
    roles: everyone,
    handler: () => 1,
  });
  const service = defineService({ name: "shop", context: schema, functions: [look] });
  await using system = await startContractSystem(answering, { service });
  for (const [body, path] of [
    [{ context: { id: 7 } }, "context.id"],
    [{}, "context.id"],
    [{ context: { id: "7" }, thread_id: "thr_nobody" }, "thread_id"],
  ] as const) {
    const response = await ask(system, local(system), { query: "hi", ...body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "invalid_request", details: [{ path }] });
  }
});

test("401 Authentication failed on a missing or invalid Bearer token; API keys are not accepted here", async () => {
  await using system = await startContractSystem(answering);
  const { tokenId, accessToken: revoked } = await system.plane.admin.createToken({ agentId: system.agentId });
  await system.plane.admin.credentials.revoke("access", tokenId);
  const secrets = ["nonsense", system.apiKey, system.runtimeKey, revoked];
  const attempts = secrets.map((secret): Record<string, string> => ({ authorization: `Bearer ${secret}` }));
  const misplaced = [
    { "x-api-key": system.apiKey },
    { "x-api-key": system.accessToken },
    { authorization: system.accessToken },
  ];
  for (const headers of [...attempts, {}, ...misplaced]) {
    const response = await ask(system, headers);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ errorMessage: "Authentication failed" });
  }
});

test("endpoints 1 and 2 do not accept access tokens", async () => {
  await using system = await startContractSystem(answering);
  for (const endpoint of ["query", "query-stream"] as const) {
    const body = JSON.stringify({ query: "hi" });
    const bearer = await fetch(system.url + system.path(endpoint), { method: "POST", headers: local(system), body });
    const header = await system.post(system.path(endpoint), body, { "x-api-key": system.accessToken });
    expect([bearer.status, header.status]).toEqual([401, 401]);
  }
});

test("id: lines and headers are as in endpoint 2; Accept is not checked; an Idempotency-Key has no effect", async () => {
  await using system = await startContractSystem(answering);
  const response = await ask(system, { ...local(system), accept: "application/json", "idempotency-key": "k" });
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
  expect(response.headers.get("x-accel-buffering")).toBe("no");
  expect(await response.text()).toMatch(/^id: 1\ndata: {"type":"final_response","data":{.*}}\n\n$/);
  const again = await ask(system, { ...local(system), "idempotency-key": "k" });
  expect(again.headers.get("X-Run-Id")).not.toBe(response.headers.get("X-Run-Id"));
  await again.text();
});

test("resume: GET /agent/runs/{run_id}/events", async () => {
  await using system = await startContractSystem(working, { wire: "anthropic" });
  const { text, headers, events } = await system.local("hi");
  const path = `/agent/runs/${headers.get("X-Run-Id")}/events`;
  const bearer = local(system);

  const whole = await system.get(path, bearer);
  expect(await whole.text()).toBe(text);
  const rest = await (await system.get(path, { ...bearer, "last-event-id": "2" })).text();
  expect(text.endsWith(rest)).toBe(true);
  expect(parseSse(rest)).toHaveLength(events.length - 2);
  expect((await system.get(path)).status).toBe(401); // an API key
  expect((await system.get("/agent/runs/run_nobody/events", bearer)).status).toBe(404);
});
