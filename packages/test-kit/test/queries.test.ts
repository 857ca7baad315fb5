import { expect, test } from "vitest";
import { QueryRefused, runQuery, scriptedModel, startTestServer } from "../src/index.ts";
import { orderService } from "./order-service.ts";

test("a query with a scripted model returns all its data", async () => {
  const model = scriptedModel([
    { thoughts: ["Look it up."], calls: [["get_order", { order: "1" }], ["erase_orders"]] },
    "It is **a gift**.",
  ]);

  const done = await runQuery(orderService(), {
    query: "What is order 1?",
    role: "customer",
    context: { customerId: "ann" },
    model,
  });

  expect(done.answer).toMatchObject({ success: true, response: "It is **a gift**.", errorMessage: "" });
  expect(done.events.map(({ type }) => type)).toEqual([
    "thought",
    "toolCall",
    "toolCall",
    "toolResult",
    "toolResult",
    "finalResponse",
  ]);
  expect(done.visibleFunctions).toEqual(["get_order", "opening_hours"]);
  expect(done.calls).toMatchObject([
    { functionName: "get_order", input: { order: "1" }, outcome: { ok: true, value: { note: "gift" } } },
    { functionName: "erase_orders", outcome: { ok: false, code: "unknown_function" }, rule: "roles" },
  ]);
  expect(done.requests).toHaveLength(2);
  expect(done.requests[0]!.messages).toMatchObject([{ role: "user", text: "What is order 1?" }]);
  expect(model.requests).toEqual(done.requests);
  expect(done.history.messages.map(({ content }) => content)).toEqual(["What is order 1?", "It is **a gift**."]);
  expect(done.metrics).toContain("patchbay_");
});

test("a script function decides each turn by the request", async () => {
  const done = await runQuery(orderService(), {
    query: "When are you open?",
    model: ({ functions, messages }, turn) =>
      turn === 0 ? { calls: [{ name: functions[0]!.name, id: "mine" }] } : JSON.stringify(messages.at(-1)),
  });

  expect(JSON.parse(done.answer.response)).toMatchObject({ results: [{ callId: "mine", content: "9 to 5" }] });
});

test("a structured answer is not listed among functions and calls", async () => {
  const done = await runQuery(orderService(), {
    query: "What is order 1?",
    role: "customer",
    responseSchema: { type: "object", properties: { gift: { type: "boolean" } }, required: ["gift"] },
    model: scriptedModel([{ calls: [["respond", { gift: true }]] }]),
  });

  expect(done.answer).toMatchObject({ success: true, structured: { gift: true } });
  expect(done.visibleFunctions).toEqual(["get_order", "opening_hours"]);
  expect(done.calls).toEqual([]);
});

test("a provider error is part of the query, and an overloaded provider is retried", async () => {
  const refused = await runQuery(orderService(), { query: "Hi", model: [{ error: "authentication" }] });
  const retried = await runQuery(orderService(), { query: "Hi", model: [{ error: "overloaded" }, "Hello."] });

  expect(refused.answer).toMatchObject({ success: false, code: "provider_error" });
  expect(retried.answer).toMatchObject({ success: true, response: "Hello." });
});

test("a script can play arguments that are not JSON", async () => {
  const done = await runQuery(orderService(), {
    query: "Hi",
    model: [{ calls: [["opening_hours", "{oops"]] }, "Sorry."],
  });

  expect(done.calls).toMatchObject([{ input: "{oops", outcome: { ok: false, code: "invalid_arguments" } }]);
});

test("a script that is too short rejects instead of ending the query", async () => {
  const short = runQuery(orderService(), { query: "Hi", model: [{ calls: [["opening_hours"]] }] });

  await expect(short).rejects.toThrow("The script has 1 turns, and the model was asked for turn 2");
});

test("a script function that throws rejects with its own error", async () => {
  const broken = runQuery(orderService(), {
    query: "Hi",
    model: () => {
      throw new RangeError("mine");
    },
  });

  await expect(broken).rejects.toThrow(RangeError);
});

test("a rejected query is an error with status and faults", async () => {
  const refused = runQuery(orderService(), { query: "Hi", context: { customerId: 7 }, model: ["Hello."] });

  await expect(refused).rejects.toThrow(QueryRefused);
  await expect(refused).rejects.toMatchObject({ status: 400, details: [{ path: "contextJson.customerId" }] });
});

test("the offline model answers by default", async () => {
  const done = await runQuery(orderService(), { query: "Get order 1", role: "manager" });

  expect(done.calls).toMatchObject([{ functionName: "get_order", input: { order: "1" }, outcome: { ok: true } }]);
});

test("concurrent queries of one server have their own model, requests and log", async () => {
  await using server = await startTestServer(orderService());
  const names = Array.from({ length: 10 }, (_, i) => `name-${i}`);

  const all = await Promise.all(
    names.map((name) =>
      server.query({ query: `I am ${name}`, model: [{ calls: [["erase_orders"]] }, `Hello ${name}`] }),
    ),
  );

  expect(all.map(({ answer }) => answer.response)).toEqual(names.map((name) => `Hello ${name}`));
  expect(all.map(({ requests }) => requests[0]!.messages[0])).toMatchObject(
    names.map((name) => ({ text: `I am ${name}` })),
  );
  for (const { log, answer } of all)
    for (const { fields } of log) expect([answer.runId, undefined]).toContain(fields["runId"]);
});

test("queries of one thread run in order", async () => {
  await using server = await startTestServer(orderService());
  const { answer } = await server.query({ query: "First", model: ["One"] });

  const [second, third] = await Promise.all([
    server.query({ query: "Second", threadId: answer.threadId, model: ["Two"] }),
    server.query({ query: "Third", threadId: answer.threadId, model: ["Three"] }),
  ]);

  expect(second.requests[0]!.messages.map((message) => "text" in message && message.text)).toEqual([
    "First",
    "One",
    "Second",
  ]);
  expect(third.answer.response).toBe("Three");
  expect(third.history.messages).toHaveLength(6);
});

test("a query in a test takes less than 100 ms of CPU", async () => {
  await using server = await startTestServer(orderService(), { model: () => "Hello." });
  await server.query({ query: "Warm up" });
  const cpuMs: number[] = [];
  for (let i = 0; i < 5; i++) {
    const before = process.cpuUsage();
    await server.query({ query: "Hi" });
    cpuMs.push(process.cpuUsage(before).user / 1000);
  }

  expect(Math.min(...cpuMs)).toBeLessThan(100);
});
