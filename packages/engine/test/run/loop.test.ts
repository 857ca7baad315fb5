import { describe, expect, test } from "vitest";
import { ModelError, PLAN_GO_AHEAD, PLAN_REQUEST } from "../../src/ports/model-provider.ts";
import { startScripted } from "./core.ts";
import { manifestOf, ok } from "./fake-gateway.ts";
import type { ScriptedTurn } from "./scripted-model.ts";

const MANIFEST = manifestOf({ open: "everyone", staff: ["agent"] });

test("an answer without calls has its thread, its usage and its cost", async () => {
  await using system = await startScripted([{ text: "Hello there." }]);

  const answer = await system.query("Hello?");

  expect(answer).toMatchObject({ success: true, response: "Hello there.", errorMessage: "", toolInteractions: [] });
  expect(answer.threadId).toMatch(/^thr_[0-9a-f]{32}$/);
  expect(answer.usage).toMatchObject({ inputTokens: 10, outputTokens: 5, cachedInputTokens: 0, costUsd: 0.00002 });
});

test("the result of a call is sent to the model and is in toolInteractions", async () => {
  await using system = await startScripted([{ calls: [["open", { id: 7 }]] }, { text: "It is 7." }], {
    answer: () => ok({ id: 7 }),
  });

  const answer = await system.query("Which?");

  expect(answer.toolInteractions).toEqual([
    { toolName: "open", parameters: { id: 7 }, success: true, result: { id: 7 } },
  ]);
  expect(system.model.requests[1]?.messages.at(-1)).toEqual({
    role: "results",
    results: [{ callId: "m0-0", name: "open", content: '{"id":7}', isError: false }],
  });
  expect(system.runtime.acknowledged).toEqual(system.runtime.orders.map((order) => order.callId));
});

test("calls of one turn run concurrently and are reported in the order asked", async () => {
  const late = Promise.withResolvers<void>();
  await using system = await startScripted(
    [
      {
        calls: [
          ["open", { n: 1 }],
          ["open", { n: 2 }],
        ],
      },
      { text: "Both." },
    ],
    {
      answer: async (order) => {
        const { n } = order.arguments as { n: number };
        if (n === 1) await late.promise;
        else late.resolve();
        return ok(n);
      },
    },
  );

  const answer = await system.query("Both?");

  expect(answer.toolInteractions.map((call) => call.result)).toEqual([1, 2]);
  const types = (await system.events(answer.runId)).map((event) => event.type);
  expect(types).toEqual(["toolCall", "toolCall", "toolResult", "toolResult", "finalResponse"]);
});

test("a function that the role may not call is neither shown nor run, and looks like an unknown function", async () => {
  const turns = (): ScriptedTurn[] => [
    {
      calls: [
        ["staff", {}],
        ["nothing", {}],
      ],
    },
    { text: "No." },
  ];
  await using system = await startScripted(turns());

  const answer = await system.query("Try it", { role: "customer" });

  expect(system.model.requests[0]?.functions.map((one) => one.name)).toEqual(["open"]);
  expect(system.runtime.orders).toEqual([]);
  const [hidden, unknown] = answer.toolInteractions;
  expect(hidden).toMatchObject({ success: false, code: "unknown_function", toolName: "staff" });
  expect({ ...hidden, toolName: "", errorMessage: hidden?.errorMessage?.replace("staff", "nothing") }).toEqual({
    ...unknown,
    toolName: "",
  });
  const { items: audit } = await system.store.audit.list({ agentId: "agt_1", runId: answer.runId, limit: 50 });
  expect(audit.filter((row) => row.action === "call.denied").map((row) => [row.functionName, row.rule])).toEqual(
    expect.arrayContaining([
      ["staff", "roles"],
      ["nothing", "unknown"],
    ]),
  );
});

test("arguments that are not JSON are stored as text and not sent", async () => {
  await using system = await startScripted([{ calls: [["open", '{"id":']] }, { text: "Sorry." }]);

  const answer = await system.query("Go");

  expect(answer.toolInteractions).toMatchObject([{ parameters: '{"id":', success: false, code: "invalid_arguments" }]);
  expect(system.runtime.orders).toEqual([]);
});

test("in analysisMode the model first plans without functions, and the plan is shown as a thought", async () => {
  await using system = await startScripted([{ text: "1. Look." }, { calls: [["open", {}]] }, { text: "Found." }]);

  const answer = await system.query("Find it", { analysisMode: true });

  expect(system.model.requests[0]?.toolChoice).toBe("none");
  expect(system.model.requests[0]?.messages.at(-1)).toEqual({ role: "user", text: PLAN_REQUEST });
  expect(system.model.requests[1]?.messages.map((message) => (message.role === "results" ? "" : message.text))).toEqual(
    ["Find it", PLAN_REQUEST, "1. Look.", PLAN_GO_AHEAD],
  );
  expect((await system.events(answer.runId))[0]).toEqual({ type: "thought", content: "1. Look." });
  expect(answer.response).toBe("Found.");
});

test.each([
  ["with words", "1. Look."],
  ["without a word", ""],
])("calls of a plan %s are dropped with the echo that repeats them", async (_, text) => {
  const echo = { provider: "scripted", model: "scripted-1", blocks: [{ type: "tool_use", id: "m0-0" }] };
  await using system = await startScripted([{ text, calls: [["open", {}]], echo }, { text: "Found." }]);

  const answer = await system.query("Find it", { analysisMode: true });

  const plan = text === "" ? [] : [PLAN_REQUEST, { role: "assistant", text, calls: [] }, PLAN_GO_AHEAD];
  const user = (one: unknown) => (typeof one === "string" ? { role: "user", text: one } : one);
  expect(system.model.requests[1]?.messages).toEqual(["Find it", ...plan].map(user));
  expect(answer).toMatchObject({ success: true, response: "Found.", toolInteractions: [] });
});

test("after 25 steps the model must answer without functions", async () => {
  await using system = await startScripted((_, index) =>
    index < 25 ? { calls: [["open", {}]] } : { text: "Enough." },
  );

  const answer = await system.query("Again and again");

  expect(answer).toMatchObject({ success: true, response: "Enough." });
  expect(answer.toolInteractions).toHaveLength(25);
  expect(system.model.requests.map((request) => request.toolChoice).slice(-2)).toEqual(["auto", "none"]);
});

test("a model that calls a function after the last step ends the run with step_limit", async () => {
  await using system = await startScripted(() => ({ calls: [["open", {}]] }));

  expect(await system.query("Again and again")).toMatchObject({ success: false, code: "step_limit" });
});

test("a turn that was cut inside a call runs no call and ends with output_limit", async () => {
  await using system = await startScripted([{ text: "I will", stop: "length", cutCall: true }]);

  const answer = await system.query("Do it");

  expect(answer).toMatchObject({ success: false, code: "output_limit", toolInteractions: [] });
  expect(answer.usage.outputTokens).toBe(5);
});

test("an answer cut by maxTokens is returned with a warning", async () => {
  await using system = await startScripted([{ text: "Half an", stop: "length" }]);

  expect(await system.query("Tell")).toMatchObject({
    success: true,
    response: "Half an",
    warnings: ["The answer was cut by maxTokens"],
  });
});

test("a refusal of the model ends with model_refused", async () => {
  await using system = await startScripted([{ stop: "refused", text: "no" }]);

  expect(await system.query("Do it")).toMatchObject({ success: false, code: "model_refused" });
});

test("an overloaded provider is asked again, and nothing of the failed attempts is stored", async () => {
  const fail = new ModelError("overloaded", "busy", { retryAfterMs: 1 });
  await using system = await startScripted([{ fail }, { fail }, { text: "At last." }]);

  expect(await system.query("Now?")).toMatchObject({ success: true, response: "At last.", usage: { inputTokens: 10 } });
});

test("the error of a provider that keeps failing does not contain the provider's text", async () => {
  const fail = new ModelError("server", "stack trace with sk-secret");
  await using system = await startScripted([{ fail }, { fail }, { fail }, { text: "never" }]);

  const answer = await system.query("Now?");

  expect(answer).toMatchObject({ success: false, code: "provider_error" });
  expect(answer.errorMessage).toBe("Provider scripted failed: it had an internal error; try again later");
  expect(system.model.requests).toHaveLength(3);
});

test("a provider that rejects the API key is not asked again", async () => {
  await using system = await startScripted([{ fail: new ModelError("authentication", "401") }, { text: "never" }]);

  expect(await system.query("Now?")).toMatchObject({ code: "provider_error" });
  expect(system.model.requests).toHaveLength(1);
});

test("role and context are in the first message, not in the system text", async () => {
  await using system = await startScripted([{ text: "ok" }]);

  await system.query("Hi", { role: "agent", context: { customerId: "customer-one" } });

  const [request] = system.model.requests;
  expect(request?.system).toContain("Be brief.");
  expect(request?.system).not.toContain("customer-one");
  expect(request?.messages[0]).toMatchObject({ role: "user", text: "Hi" });
  expect(JSON.stringify(request?.messages[0])).toContain("customerId");
});

test("a result above 32 KiB is cut for the model with a marker and stored whole", async () => {
  const long = "é".repeat(30_000);
  await using system = await startScripted([{ calls: [["open", {}]] }, { text: "Long." }], { answer: () => ok(long) });

  const answer = await system.query("Long?");

  expect(answer.toolInteractions[0]?.result).toBe(long);
  const message = system.model.requests[1]?.messages.at(-1);
  const content = message?.role === "results" ? message.results[0]!.content : "";
  expect(content).toMatch(/é\n\[cut: 32768 of 60000 bytes shown\]$/);
});

test("the model sees only the modelContext of a service", async () => {
  await using core = await startScripted([{ text: "ok" }, { text: "ok" }], {
    manifest: { ...MANIFEST, preparesContext: true },
  });

  core.runtime.prepared = { ok: true, modelContext: null };
  await core.query("Hi", { context: { secret: "customer-one" } });
  core.runtime.prepared = { ok: true, modelContext: { plan: "gold" } };
  await core.query("Hi", { context: { secret: "customer-one" } });

  expect(JSON.stringify(core.model.requests)).not.toContain("customer-one");
  expect(JSON.stringify(core.model.requests[1])).toContain("gold");
});

test("a model that only pauses must answer after 25 steps", async () => {
  await using system = await startScripted(() => ({ text: "still thinking", stop: "pause" }));

  expect(await system.query("Think")).toMatchObject({ success: true, response: "still thinking" });
  expect(system.model.requests).toHaveLength(26);
  expect(system.model.requests.at(-1)?.toolChoice).toBe("none");
});

test("no call of a turn that maxTokens cut is run, although its calls look complete", async () => {
  await using system = await startScripted([{ text: "Let me look.", calls: [["open", {}]], stop: "length" }]);

  expect(await system.query("Look")).toMatchObject({ success: false, code: "output_limit", toolInteractions: [] });
  expect(system.runtime.orders).toEqual([]);
});

test("a turn may have thousands of calls", async () => {
  const calls = Array.from({ length: 3_000 }, (_, n) => ["open", { n }] as const);
  await using system = await startScripted([{ calls }, { text: "All done." }]);

  const answer = await system.query("Do them all");

  expect(answer).toMatchObject({ success: true, response: "All done." });
  expect(answer.toolInteractions.map(({ parameters }) => parameters)).toEqual(calls.map(([, input]) => input));
});

describe("calls with arguments that are not JSON", () => {
  const broken = ["open", '{"a": '] as const;
  const fine = ["open", { a: 1 }] as const;
  const bare = ["open", ""] as const;
  const twice = [broken, broken];
  const thrice = <T>(one: T): T[] => [one, one, one];

  test.each([
    ["over three turns", thrice([broken])],
    ["of one turn", [thrice(broken)]],
    ["after others", [thrice(fine), thrice(broken)]],
  ])("end the run when three come in a row, %s", async (_, turns) => {
    await using system = await startScripted([...turns.map((calls) => ({ calls })), { text: "Never asked for." }]);

    const answer = await system.query("Open it");

    expect(answer).toMatchObject({
      code: "provider_error",
      errorMessage: "Provider scripted failed: it wrote function calls that cannot be read",
    });
    expect(answer.toolInteractions.slice(-3).map(({ code }) => code)).toEqual(Array(3).fill("invalid_arguments"));
  });

  test.each([
    ["a call between them can be read", [twice, [fine, ...twice]]],
    ["they have none", [thrice(bare)]],
  ])("do not end the run when %s", async (_, turns) => {
    await using system = await startScripted([...turns.map((calls) => ({ calls })), { text: "Done." }]);

    expect(await system.query("Open it")).toMatchObject({ success: true, response: "Done." });
  });
});
