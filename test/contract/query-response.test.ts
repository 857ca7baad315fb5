import { describe, expect, test } from "vitest";
import { callThenAnswer, scriptFor, type Script } from "@patchbay/test-support/providers";
import { parseSse } from "@patchbay/test-support/sse";
import { startContractSystem } from "./contract-system.ts";

const SIX = ["success", "response", "threadId", "executionTimeMs", "toolInteractions", "errorMessage"];
const answering = scriptFor({ text: "**Hello.**" });

test("all six fields are always present on HTTP 200", async () => {
  await using system = await startContractSystem(answering);
  const answered = await system.query("hi");
  const failed = await system.query("hi", { llmConfig: { provider: "gemini" } });

  expect(Object.keys(answered)).toEqual(expect.arrayContaining(SIX));
  expect(answered).toMatchObject({ success: true, response: "**Hello.**", toolInteractions: [], errorMessage: "" });
  expect(answered.executionTimeMs).toBeGreaterThanOrEqual(0);
  expect(Object.keys(failed)).toEqual(expect.arrayContaining(SIX));
  expect(failed).toMatchObject({ success: false, response: "", toolInteractions: [] });
  expect(failed.errorMessage).not.toBe("");
});

test("threadId is always a thread that can be continued, also after a failed run", async () => {
  await using system = await startContractSystem(answering, { connected: false });
  const refused = await system.query("hi");
  await system.connect(system.desk.service);
  const run = `/agents/${system.agentId}/runs/${refused.runId}`;
  expect(await (await system.get(run)).json()).toMatchObject({ status: "failed", result: refused });
  expect(parseSse(await (await system.get(`${run}/events`)).text())).toMatchObject([
    { id: 1, data: { type: "error" } },
  ]);

  const next = await system.query("again", { threadId: refused.threadId });

  expect(next).toMatchObject({ success: true, threadId: refused.threadId });
});

test("extensions: runId, sessionId (when sent), code (when success is false), warnings (when there are any), usage", async () => {
  await using system = await startContractSystem(
    scriptFor({ text: "Hello.", usage: { input: 100, cachedInput: 40, cacheWriteInput: 50, output: 9 } }),
  );

  const plain = await system.query("hi");
  const full = await system.query("hi", {
    sessionId: "s-1",
    llmConfig: { provider: "openai", model: "gpt-6.1-terra", temperature: 1 },
  });
  const failed = await system.query("hi", { llmConfig: { provider: "gemini" } });

  expect(Object.keys(plain).sort()).toEqual([...SIX, "runId", "usage"].sort());
  expect(plain.usage).toEqual({
    inputTokens: 100,
    outputTokens: 9,
    cachedInputTokens: 40,
    cacheWriteInputTokens: 50,
    costUsd: expect.any(Number),
  });
  expect(plain.usage.costUsd).toBeGreaterThan(0);
  expect(Object.keys(full).sort()).toEqual([...SIX, "runId", "sessionId", "usage", "warnings"].sort());
  expect(full.sessionId).toBe("s-1");
  expect(Object.keys(failed).sort()).toEqual([...SIX, "code", "runId", "usage"].sort());
});

test("usage is the sum over the run's turns", async () => {
  await using system = await startContractSystem((request) => ({
    ...(request.step === 0 ? { calls: [{ name: "look_up", arguments: { id: "1" } }] } : { text: "Done." }),
    usage: { input: 10, cachedInput: 4, cacheWriteInput: 5, output: 3 },
  }));
  expect((await system.query("hi")).usage).toMatchObject({
    inputTokens: 20,
    cachedInputTokens: 8,
    cacheWriteInputTokens: 10,
    outputTokens: 6,
  });
});

describe("toolInteractions", () => {
  test("is in the order of the model's calls, also when they ran in parallel", async () => {
    await using system = await startContractSystem(
      callThenAnswer(["a", "b", "c"].map((id) => ({ name: "wait", arguments: { id } }))),
    );
    const asked = system.query("hi");
    await Promise.all(["a", "b", "c"].map((id) => system.desk.begun(id)));
    for (const id of ["c", "b", "a"]) system.desk.release(id);

    expect((await asked).toolInteractions).toEqual(
      ["a", "b", "c"].map((id) => ({
        toolName: "wait",
        parameters: { id },
        success: true,
        result: `waited for ${id}`,
      })),
    );
  });

  test("a denied or failed call is in it with success: false, its text and its code, and the query continues", async () => {
    await using system = await startContractSystem(
      callThenAnswer(
        [
          { name: "refund", arguments: { id: "foreign" } },
          { name: "no_such", arguments: {} },
          { name: "look_up", arguments: { id: 7 } },
          { name: "fail", arguments: { kindly: true } },
          { name: "fail" },
          { name: "brief" },
          { name: "large", arguments: { units: 262_145 } },
        ],
        () => "All seen.",
      ),
    );

    const answer = await system.query("hi", { role: "support" });

    expect(answer).toMatchObject({ success: true, response: "All seen." });
    expect(answer.toolInteractions.map(({ toolName, success, code }) => [toolName, success, code])).toEqual([
      ["refund", false, "denied"],
      ["no_such", false, "unknown_function"],
      ["look_up", false, "invalid_arguments"],
      ["fail", false, "function_failed"],
      ["fail", false, "function_failed"],
      ["brief", false, "timed_out"],
      ["large", false, "result_too_large"],
    ]);
    for (const call of answer.toolInteractions) {
      expect(call.errorMessage).not.toBe("");
      expect(call).not.toHaveProperty("result");
    }
    expect(answer.toolInteractions[0]?.errorMessage).toBe("Not your order.");
    expect(answer.toolInteractions[3]?.errorMessage).toBe("The shop is closed.");
    expect(JSON.stringify(answer)).not.toContain("hunter2");
  });

  test("arguments that are not JSON are in it as raw text, and no function is called", async () => {
    await using system = await startContractSystem(callThenAnswer([{ name: "look_up", arguments: '{"id": oops' }]));

    const answer = await system.query("hi");

    expect(answer.toolInteractions).toMatchObject([
      { toolName: "look_up", parameters: '{"id": oops', success: false, code: "invalid_arguments" },
    ]);
    expect(system.desk.handled).toEqual([]);
  });
});

describe("step_limit", () => {
  const tireless: Script = ({ toolChoice }) =>
    toolChoice === "none" ? { text: "That is all." } : { calls: [{ name: "look_up", arguments: { id: "1" } }] };

  test("after 25 steps the model is asked for an answer without tools", async () => {
    await using system = await startContractSystem(tireless);
    const answer = await system.query("hi");
    expect(answer).toMatchObject({ success: true, response: "That is all." });
    expect(answer.toolInteractions).toHaveLength(25);
  });

  test("is the code only if the model still calls functions when asked without tools", async () => {
    await using system = await startContractSystem(scriptFor({ calls: [{ name: "look_up", arguments: { id: "1" } }] }));
    const answer = await system.query("hi");
    expect(answer).toMatchObject({ success: false, code: "step_limit" });
    expect(answer.toolInteractions).toHaveLength(25);
    expect(system.sent().at(-1)?.toolChoice).toBe("none");
  });
});

test("an answer cut by maxTokens is returned with a warning", async () => {
  await using system = await startContractSystem(scriptFor({ text: "Half an ans", stop: "length" }));
  expect(await system.query("hi")).toMatchObject({
    success: true,
    response: "Half an ans",
    warnings: [expect.stringContaining("maxTokens")],
  });
});

test.each(["anthropic", "openai-responses", "openai-chat", "gemini"] as const)(
  "a turn cut inside a call executes nothing (output_limit), over %s",
  async (wire) => {
    const cut = [
      { name: "look_up", arguments: { id: "1" } },
      { name: "look_up", arguments: { id: "two" } },
    ];
    await using system = await startContractSystem(scriptFor({ calls: cut, stop: "length" }), { wire });
    expect(await system.query("hi")).toMatchObject({ success: false, code: "output_limit", toolInteractions: [] });
    expect(system.desk.handled).toEqual([]);
  },
);

test("the model receives a result above 32 KiB cut, with a marker; the client receives it whole", async () => {
  await using system = await startContractSystem(
    callThenAnswer([{ name: "large", arguments: { units: 262_000 } }], () => "Much."),
  );

  const answer = await system.query("hi");

  expect(answer.toolInteractions[0]).toMatchObject({ success: true, result: "x".repeat(262_000) });
  const shown = system.sent()[1]?.results[0]?.content ?? "";
  expect(Buffer.byteLength(shown)).toBeLessThan(33_000);
  expect(shown).toMatch(/^x{32768}\n\[cut: .*262000 bytes.*\]$/);
});

test("a result over 256 KiB is a failed call", async () => {
  await using system = await startContractSystem(
    callThenAnswer([
      { name: "large", arguments: { units: 262_142 } },
      { name: "large", arguments: { units: 262_143 } },
    ]),
  );
  const { toolInteractions } = await system.query("hi");
  expect(toolInteractions.map(({ success, code }) => [success, code])).toEqual([
    [true, undefined],
    [false, "result_too_large"],
  ]);
});

test("a model's refusal ends the run with model_refused, a provider's failure with provider_error", async () => {
  await using refusing = await startContractSystem(scriptFor({ stop: "refused" }), { wire: "anthropic" });
  expect(await refusing.query("hi")).toMatchObject({ success: false, code: "model_refused" });

  await using failing = await startContractSystem(
    scriptFor({ error: { status: 400, message: "secret words of the provider" } }),
  );
  const answer = await failing.query("hi");
  expect(answer).toMatchObject({ success: false, code: "provider_error" });
  expect(JSON.stringify(answer)).not.toContain("secret words");
});

test("a failed run still reports the calls executed before it failed", async () => {
  await using system = await startContractSystem(
    scriptFor({ calls: [{ name: "look_up", arguments: { id: "1" } }] }, { error: { status: 401 } }),
  );
  expect(await system.query("hi")).toMatchObject({
    success: false,
    code: "provider_error",
    toolInteractions: [{ toolName: "look_up", success: true }],
  });
});
