import { describe, expect, test } from "vitest";
import { callThenAnswer, scriptFor, type Script } from "@patchbay/test-support/providers";
import { breakStore, failsWith, failuresOf, startContractSystem } from "./contract-system.ts";
import { openStream, typed } from "./open-stream.ts";

const answering = scriptFor({ text: "**Two** orders are late." });
const lookingUp = callThenAnswer([{ name: "look_up", arguments: { id: "1" } }], () => "It is there.");

describe("what the service does", () => {
  test("the agent runs the query by calling functions of the owner; the answer comes with a record of them", async () => {
    await using system = await startContractSystem(lookingUp);
    expect(await system.query("Is order 1 there?")).toMatchObject({
      success: true,
      response: "It is there.",
      errorMessage: "",
      toolInteractions: [
        { toolName: "look_up", parameters: { id: "1" }, success: true, result: { id: "1", found: true } },
      ],
    });
  });

  test("a client continues a conversation by sending the threadId from an earlier response", async () => {
    await using system = await startContractSystem(answering);
    const first = await system.query("Which orders are late?");
    const next = await system.query("And which of them is mine?", { threadId: first.threadId });
    expect(next.threadId).toBe(first.threadId);
    expect(system.sent()[1]?.messages.map(({ role, text }) => [role, text])).toEqual([
      ["user", "Which orders are late?"],
      ["assistant", "**Two** orders are late."],
      ["user", "And which of them is mine?"],
    ]);
    expect((await system.query("Something new")).threadId).not.toBe(first.threadId);
  });

  test("both modes and the local variant share one conversation", async () => {
    await using system = await startContractSystem(answering);
    const { threadId } = await system.query("one");
    await system.stream("two", { threadId });
    await system.query("three", { threadId });
    expect(system.sent()[2]?.messages).toHaveLength(5);
  });

  test("a role is injected into the context, so that the functions can apply role-based access control", async () => {
    await using system = await startContractSystem(callThenAnswer([{ name: "refund", arguments: { id: "1" } }]));
    const allowed = await system.query("Refund order 1", { role: "support" });
    const refused = await system.query("Refund order 1", { role: "customer" });
    expect([allowed, refused].map(({ toolInteractions: [call] }) => call?.success)).toEqual([true, false]);
    expect(system.desk.handled).toMatchObject([{ name: "refund", role: "support" }]);
  });

  test("it needs no client library, only HTTP requests", async () => {
    await using system = await startContractSystem(answering);
    const response = await fetch(`${system.url}/agents/${system.agentId}/query`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-API-Key": system.apiKey },
      body: '{"query": "Which orders are late?"}',
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toMatchObject({ success: true, response: "**Two** orders are late." });
  });
});

test("sessionId groups related threads; it reaches the functions and the list of threads", async () => {
  await using system = await startContractSystem(lookingUp);
  await system.query("a", { sessionId: "visit-7" });
  await system.query("b", { sessionId: "visit-7" });
  const page = (await (await system.get(`/agents/${system.agentId}/threads`)).json()) as { items: object[] };
  expect(page.items).toMatchObject([{ sessionId: "visit-7" }, { sessionId: "visit-7" }]);
  expect(system.desk.handled.map(({ sessionId }) => sessionId)).toEqual(["visit-7", "visit-7"]);
});

test("analysisMode forces analyst mode: plan first, then act", async () => {
  const planner: Script = ({ step, toolChoice }, turn) => {
    if (turn === 1) return { text: "1. Look it up." };
    expect(toolChoice).toBe("auto");
    return step === 0 || turn === 2 ? { calls: [{ name: "look_up", arguments: { id: "1" } }] } : { text: "There." };
  };
  await using system = await startContractSystem(planner);

  const { events } = await system.stream("Is order 1 there?", { analysisMode: true });

  expect(events.map(({ data }) => data.type)).toEqual(["thought", "toolCall", "toolResult", "finalResponse"]);
  expect(events[0]?.data).toEqual({ type: "thought", content: "1. Look it up." });
  expect(system.sent()[0]?.toolChoice).toBe("none");
});

test.each([
  ["anthropic", "anthropic"],
  ["openai", "openai-responses"],
  ["openai", "openai-chat"],
  ["gemini", "gemini"],
] as const)(
  "llmConfig.provider is one of anthropic, openai, gemini (%s, %s); maxTokens 8192",
  async (provider, wire) => {
    await using system = await startContractSystem(lookingUp, { wire });
    const answer = await system.query("hi", { llmConfig: { provider } });
    expect(answer).toMatchObject({ success: true, response: "It is there.", toolInteractions: [{ success: true }] });
    expect(system.sent().map(({ maxTokens }) => maxTokens)).toEqual([8192, 8192]);
    expect(system.standIn.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
  },
);

describe("endpoint 2", () => {
  test("each event is a line that starts with 'data: ' followed by a JSON object with a type field", async () => {
    await using system = await startContractSystem(lookingUp);
    const { text } = await system.stream("hi");
    const lines = text.split("\n").filter((line) => line.startsWith("data: "));
    const types = lines.map((line) => (JSON.parse(line.slice("data: ".length)) as { type: string }).type);
    expect(types).toEqual(["toolCall", "toolResult", "finalResponse"]);
  });

  test("fields that clients read: thought content, toolCall toolName, finalResponse response", async () => {
    await using system = await startContractSystem(
      ({ step }) => (step === 0 ? { thoughts: ["Hm."], calls: [{ name: "report" }] } : { text: "Done." }),
      { wire: "anthropic" },
    );
    const { events } = await system.stream("hi");
    expect(events.map(({ data }) => data)).toMatchObject([
      { type: "thought", content: "Hm." },
      { type: "toolCall", toolName: "report" },
      { type: "toolResult" },
      { type: "finalResponse", response: "Done." },
    ]);
  });

  test("reasoning and function events precede the final event; the last event is finalResponse or error", async () => {
    await using system = await startContractSystem((request, turn) =>
      turn <= 2 ? lookingUp(request, turn) : turn === 3 ? { calls: [{ name: "report" }] } : { error: { status: 401 } },
    );
    const good = await system.stream("hi");
    const bad = await system.stream("hi");
    expect(good.events.at(-1)?.data.type).toBe("finalResponse");
    expect(bad.events.map(({ data }) => data.type)).toEqual(["toolCall", "toolResult", "error"]);
  });

  test("events arrive in real time, not when the run has ended", async () => {
    await using system = await startContractSystem(callThenAnswer([{ name: "wait", arguments: { id: "a" } }]));
    const stream = openStream(await system.post(system.path("query-stream"), { query: "hi" }));
    expect((await stream.until(typed("toolCall"))).data).toMatchObject({ toolName: "wait" });
    system.desk.release("a");
    await stream.rest();
  });
});

test("endpoint 3: POST {local_url}/agent/query-stream with events of the form {type, data}", async () => {
  await using system = await startContractSystem(
    ({ step }) => (step === 0 ? { thoughts: ["Hm."], calls: [{ name: "report" }] } : { text: "Done." }),
    { wire: "anthropic" },
  );
  const { events } = await system.local("hi", { max_tokens: 500, role: "support", analysis_mode: false });
  expect(events.map(({ data }) => data)).toMatchObject([
    { type: "thinking", data: { content: "Hm." } },
    { type: "function_call", data: { name: "report" } },
    { type: "function_result", data: { result: "reported" } },
    { type: "final_response", data: { response: "Done." } },
  ]);
  expect(system.sent()[0]?.maxTokens).toBe(500);
});

describe("authentication", () => {
  test("a key begins with service_live_, is created with its agent, and is stored only as a hash", async () => {
    await using system = await startContractSystem(answering);
    expect(system.apiKey).toMatch(/^service_live_[0-9A-Za-z]{36}$/);
    const stored = await system.plane.store.accounts.listCredentials("api", system.agentId);
    expect(JSON.stringify(stored)).not.toContain(system.apiKey);
  });

  test("a key gives full access to execute that agent's functions", async () => {
    await using system = await startContractSystem(callThenAnswer([{ name: "wipe_all" }], () => "Gone."));
    expect((await system.query("hi", { role: "admin" })).toolInteractions).toMatchObject([{ success: true }]);
  });
});

describe("errors", () => {
  test("400 invalid request format, 401 invalid or missing API key, 403 Agent ID mismatch, 500 server error", async () => {
    await using system = await startContractSystem(answering);
    using _broken = breakStore(system.plane.store, "runs", ["start"], new Error("broken"));
    const ask = (path: string, body: unknown, key = system.apiKey) => system.post(path, body, { "x-api-key": key });

    for (const endpoint of ["query", "query-stream"] as const) {
      const path = system.path(endpoint);
      const answers = [
        await ask(path, "{"),
        await ask(path, {}),
        await ask(path, { query: "hi" }, "service_live_nobody"),
        await ask(`/agents/agt_other/${endpoint}`, { query: "hi" }),
        await ask(path, { query: "hi" }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([400, 400, 401, 403, 500]);
      expect(await answers[2]?.json()).toMatchObject({ errorMessage: "Authentication failed" });
    }
  });

  test("Agent session not found: the functions service is not running or has not connected", async () => {
    await using system = await startContractSystem(answering, { connected: false });
    expect(await failuresOf(system)).toEqual(failsWith("agent_session_not_found", "Agent session not found"));
  });

  test("Insufficient credits: the organization has run out of credits", async () => {
    // The balance covers one turn of this model, but not a second one.
    const turn = { usage: { input: 1_000, cachedInput: 0, output: 8_000 } };
    await using system = await startContractSystem(
      ({ step }) => (step === 0 ? { ...turn, calls: [{ name: "report" }] } : { ...turn, text: "Done." }),
      { tier: "starter" },
    );
    await system.plane.admin.grant(system.orgId, "0.15");
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await system.query("hi"));

    const last = answers.at(-1);
    expect(last).toMatchObject({ success: false, errorMessage: "Insufficient credits", code: "insufficient_credits" });
    const { balanceUsd } = await system.plane.admin.showCredits(system.orgId);
    const spent = answers.reduce((sum, { usage }) => sum + usage.costUsd, 0);
    expect(balanceUsd).toBeGreaterThanOrEqual(0);
    expect(balanceUsd + spent).toBeCloseTo(0.15, 6);
    expect(await failuresOf(system)).toEqual(failsWith("insufficient_credits", "Insufficient credits"));
  });
});

test("concurrent queries never spend more than the balance", async () => {
  const priced = { text: "Done.", usage: { input: 2_000, cachedInput: 0, output: 5_000 } };
  await using system = await startContractSystem(scriptFor(priced), { tier: "starter" });
  await system.plane.admin.grant(system.orgId, "0.3");

  const answers = await Promise.all(Array.from({ length: 12 }, () => system.query("hi")));

  const { balanceUsd } = await system.plane.admin.showCredits(system.orgId);
  const spent = answers.reduce((sum, { usage }) => sum + usage.costUsd, 0);
  expect(new Set(answers.map(({ errorMessage }) => errorMessage))).toEqual(new Set(["", "Insufficient credits"]));
  expect(balanceUsd).toBeGreaterThanOrEqual(0);
  expect(balanceUsd + spent).toBeCloseTo(0.3, 6);
});

test("rate limit, development accounts: unlimited queries in sandbox mode", async () => {
  await using system = await startContractSystem(answering, { providers: { offline: true } });
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => system.post(system.path(), { query: "Report how far you are" })),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(answers[0]?.headers.has("RateLimit")).toBe(false);
  await Promise.all(answers.map((answer) => answer.text()));
});
