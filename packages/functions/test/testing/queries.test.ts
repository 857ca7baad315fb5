import { expect, test } from "vitest";
import { QueryRefused, runQuery, scriptedModel, startTestDesk } from "../../src/testing/index.ts";
import { deskService } from "./desk-service.ts";

test("a whole query runs with a played model and shows all it left behind", async () => {
  const model = scriptedModel([
    { thoughts: ["Look it up."], calls: [["get_order", { order: "1" }], ["erase_orders"]] },
    "It is **a gift**.",
  ]);

  const done = await runQuery(deskService(), {
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

test("a script may decide each turn by what the model was sent", async () => {
  const done = await runQuery(deskService(), {
    query: "When are you open?",
    model: ({ functions, messages }, turn) =>
      turn === 0 ? { calls: [{ name: functions[0]!.name, id: "mine" }] } : JSON.stringify(messages.at(-1)),
  });

  expect(JSON.parse(done.answer.response)).toMatchObject({ results: [{ callId: "mine", content: "9 to 5" }] });
});

test("a query can ask for a structured answer, which shows among no functions and calls", async () => {
  const done = await runQuery(deskService(), {
    query: "What is order 1?",
    role: "customer",
    responseSchema: { type: "object", properties: { gift: { type: "boolean" } }, required: ["gift"] },
    model: scriptedModel([{ calls: [["respond", { gift: true }]] }]),
  });

  expect(done.answer).toMatchObject({ success: true, structured: { gift: true } });
  expect(done.visibleFunctions).toEqual(["get_order", "opening_hours"]);
  expect(done.calls).toEqual([]);
});

test("a provider's failure is a part of the query, and one that may pass is asked again", async () => {
  const refused = await runQuery(deskService(), { query: "Hi", model: [{ error: "authentication" }] });
  const mended = await runQuery(deskService(), { query: "Hi", model: [{ error: "overloaded" }, "Hello."] });

  expect(refused.answer).toMatchObject({ success: false, code: "provider_error" });
  expect(mended.answer).toMatchObject({ success: true, response: "Hello." });
});

test("arguments that are no JSON can be played", async () => {
  const done = await runQuery(deskService(), {
    query: "Hi",
    model: [{ calls: [["opening_hours", "{oops"]] }, "Sorry."],
  });

  expect(done.calls).toMatchObject([{ input: "{oops", outcome: { ok: false, code: "invalid_arguments" } }]);
});

test("a script that is too short fails the test instead of the query", async () => {
  const short = runQuery(deskService(), { query: "Hi", model: [{ calls: [["opening_hours"]] }] });

  await expect(short).rejects.toThrow("The script has 1 turns, and the model was asked for turn 2");
});

test("a script function that throws fails the test with its own error", async () => {
  const broken = runQuery(deskService(), {
    query: "Hi",
    model: () => {
      throw new RangeError("mine");
    },
  });

  await expect(broken).rejects.toThrow(RangeError);
});

test("a query that the service refuses to begin is an error with its status and faults", async () => {
  const refused = runQuery(deskService(), { query: "Hi", context: { customerId: 7 }, model: ["Hello."] });

  await expect(refused).rejects.toThrow(QueryRefused);
  await expect(refused).rejects.toMatchObject({ status: 400, details: [{ path: "contextJson.customerId" }] });
});

test("without a model of the test's own the offline model answers", async () => {
  const done = await runQuery(deskService(), { query: "Get order 1", role: "manager" });

  expect(done.calls).toMatchObject([{ functionName: "get_order", input: { order: "1" }, outcome: { ok: true } }]);
});

test("queries side by side on one desk each have their own model, requests and log", async () => {
  await using desk = await startTestDesk(deskService());
  const names = Array.from({ length: 10 }, (_, i) => `name-${i}`);

  const all = await Promise.all(
    names.map((name) => desk.query({ query: `I am ${name}`, model: [{ calls: [["erase_orders"]] }, `Hello ${name}`] })),
  );

  expect(all.map(({ answer }) => answer.response)).toEqual(names.map((name) => `Hello ${name}`));
  expect(all.map(({ requests }) => requests[0]!.messages[0])).toMatchObject(
    names.map((name) => ({ text: `I am ${name}` })),
  );
  for (const { log, answer } of all)
    for (const { fields } of log) expect([answer.runId, undefined]).toContain(fields["runId"]);
});

test("a conversation goes on by its thread, one query after another", async () => {
  await using desk = await startTestDesk(deskService());
  const { answer } = await desk.query({ query: "First", model: ["One"] });

  const [second, third] = await Promise.all([
    desk.query({ query: "Second", threadId: answer.threadId, model: ["Two"] }),
    desk.query({ query: "Third", threadId: answer.threadId, model: ["Three"] }),
  ]);

  expect(second.requests[0]!.messages.map((message) => "text" in message && message.text)).toEqual([
    "First",
    "One",
    "Second",
  ]);
  expect(third.answer.response).toBe("Three");
  expect(third.history.messages).toHaveLength(6);
});

test("a query in a test takes less than 100 ms", async () => {
  await using desk = await startTestDesk(deskService(), { model: () => "Hello." });
  await desk.query({ query: "Warm up" });
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    const began = performance.now();
    await desk.query({ query: "Hi" });
    times.push(performance.now() - began);
  }

  expect(Math.min(...times)).toBeLessThan(100);
});
