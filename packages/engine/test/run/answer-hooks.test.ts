import type { HookCall } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import { ModelError } from "../../src/ports/model-provider.ts";
import { startHooked, echo, hooksOf, masks, passed, refusal, replacedBy, SECRET } from "./start-hooks.ts";
import { memoryStore } from "./core.ts";

describe("beforeAnswer", () => {
  const everywhere = [
    {
      text: `First I look at ${SECRET}.`,
      thoughts: [`The user wants ${SECRET}.`],
      calls: [["open", {}]] as const,
      echo: echo(`thinking of ${SECRET}`),
    },
    { text: `It is ${SECRET}.`, thoughts: [`So ${SECRET} it is.`], echo: echo(`again ${SECRET}`) },
  ].map(({ calls, ...turn }) => ({ ...turn, ...(calls && { calls: [...calls] }) }));

  test("sees every text of the model, with its role and context", async () => {
    await using system = await startHooked(everywhere, () => passed);

    await system.query("What is it?", { role: "agent", context: { shop: 7 } });

    const of = { hook: "beforeAnswer", role: "agent", context: { shop: 7 } };
    expect(system.calls.slice(1)).toEqual([
      { ...of, answer: `First I look at ${SECRET}.`, part: "thought" },
      { ...of, answer: `The user wants ${SECRET}.`, part: "thought" },
      { ...of, answer: `It is ${SECRET}.`, part: "answer" },
      { ...of, answer: `So ${SECRET} it is.`, part: "thought" },
    ]);
  });

  test("a passed text is shown and stored as the model wrote it, echoes included", async () => {
    await using system = await startHooked(everywhere, () => passed);

    const { answer, left } = await system.ask("What is it?");

    expect(answer).toMatchObject({ success: true, response: `It is ${SECRET}.` });
    expect(left).toContain(`thinking of ${SECRET}`);
    expect(await system.events(answer.runId)).toContainEqual({ type: "thought", content: `The user wants ${SECRET}.` });
  });

  test("a replaced text is not in events, deltas, the store or the next model request", async () => {
    await using system = await startHooked([...everywhere, { text: "Nothing more." }], masks);

    const { answer, left } = await system.ask("What is it?");

    expect(answer).toMatchObject({ success: true, response: "It is ***." });
    expect(left).not.toContain(SECRET);
    expect(system.live).toEqual([]);
    expect(await system.events(answer.runId)).toMatchObject([
      { type: "thought", content: "The user wants ***." },
      { type: "thought", content: "First I look at ***." },
      { type: "toolCall" },
      { type: "toolResult" },
      { type: "thought", content: "So *** it is." },
      { type: "finalResponse", response: "It is ***." },
    ]);
    await system.ask("And then?", { threadId: answer.threadId });
    expect(JSON.stringify(system.model.requests.slice(1))).not.toContain(SECRET);
    expect(JSON.stringify(system.model.requests.at(-1))).toContain("It is ***.");
  });

  test("a plan and a thought that a hook replaces with an empty text are left out", async () => {
    const empties = (call: HookCall) =>
      call.hook === "beforeAnswer" && call.part === "thought" ? replacedBy("") : passed;
    await using system = await startHooked(
      [{ text: `Plan: ${SECRET}`, echo: echo(SECRET) }, ...everywhere.slice(0, 1), { text: "Three." }],
      empties,
    );

    const { answer, left } = await system.ask("What is it?", { analysisMode: true });

    expect(answer).toMatchObject({ success: true, response: "Three." });
    expect(left).not.toContain(SECRET);
    expect(await system.events(answer.runId)).not.toContainEqual(expect.objectContaining({ type: "thought" }));
    expect(system.model.requests[2]?.messages.at(-2)).toMatchObject({
      role: "assistant",
      text: "",
      calls: [{ name: "open" }],
    });
  });

  test.each([
    ["an answer", [{ text: `It is ${SECRET}.`, thoughts: [`So ${SECRET}.`], echo: echo(SECRET) }]],
    ["a text next to calls", everywhere],
    ["a thought", [{ text: "Three.", thoughts: [`So ${SECRET}.`], echo: echo(SECRET) }]],
  ])("that refuses %s ends the run with its text, and no other text is stored", async (_, turns) => {
    const refuses = (call: HookCall) =>
      call.hook === "beforeAnswer" && call.answer.includes(SECRET) ? refusal : passed;
    await using system = await startHooked([...turns], refuses);

    const { answer, left } = await system.ask("What is it?");

    expect(answer).toMatchObject({
      success: false,
      code: "refused",
      response: "",
      errorMessage: "We do not discuss that.",
      toolInteractions: [],
      usage: { inputTokens: 10, outputTokens: 5, costUsd: 0.00002 },
    });
    expect(left).not.toContain(SECRET);
    expect(system.live).toEqual([]);
    const { turns: stored } = await system.store.runs.checkpoint(answer.runId);
    expect(stored).toMatchObject([{ messages: [], usage: { input: 10, output: 5 }, costMicros: 20 }]);
    expect(system.runtime.orders).toEqual([]);
    expect(await system.audited()).toContainEqual({
      action: "run.failed",
      rule: "refused",
      detail: { hook: "beforeAnswer", service: "test" },
    });
  });

  test.each([
    ["fails", { verdict: "failed", reference: "abc" }],
    ["cannot be asked", undefined],
    ["empties the answer", replacedBy(" ")],
  ] as const)("that %s ends the run with internal and shows nothing", async (_, verdict) => {
    await using system = await startHooked([{ text: `It is ${SECRET}.` }], ({ hook }) =>
      hook === "beforeQuery" ? passed : verdict,
    );

    const { answer, left } = await system.ask("What is it?");

    expect(answer).toMatchObject({ success: false, code: "internal", response: "", usage: { inputTokens: 10 } });
    expect(left).not.toContain(SECRET);
  });

  test("does not get a text that exceeds its limit", async () => {
    await using system = await startHooked([{ text: "x".repeat(163_840) }], () => passed);

    expect(await system.query("What is it?")).toMatchObject({
      code: "internal",
      errorMessage: expect.stringContaining("163842 bytes exceed the limit of 163840"),
    });
  });

  test("texts of an unusable turn are not stored, and a refusal of the model has no reason", async () => {
    await using refused = await startHooked(
      [{ text: SECRET, refusal: SECRET, thoughts: [SECRET], stop: "refused", echo: echo(SECRET) }],
      masks,
    );

    const { answer, left } = await refused.ask("What is it?");

    expect(answer).toMatchObject({ code: "model_refused", errorMessage: "The model refused to answer" });
    expect(left).not.toContain(SECRET);
  });

  test("deltas of failed attempts are not shown", async () => {
    await using system = await startHooked(
      [{ text: SECRET, fail: new ModelError("overloaded", "busy") }, { text: "Three." }],
      masks,
    );

    expect((await system.ask("What is it?")).answer).toMatchObject({ response: "Three." });
    expect(system.live).toEqual([]);
  });

  test("texts are shown while they are written when the service has no hook", async () => {
    await using system = await startHooked([{ text: "Three." }], () => passed, { manifest: { beforeAnswer: false } });

    await system.ask("What is it?");

    expect(system.live).toEqual([{ type: "responseDelta", content: "Three." }]);
    expect(system.calls).toHaveLength(1);
  });

  test("of several services run one after another, each on the text of the one before", async () => {
    const hooks = ["a", "b", "c"].map((service) => hooksOf(service));
    const adds = (call: HookCall, _: AbortSignal, hash: string) =>
      call.hook === "beforeAnswer" ? replacedBy(`${call.answer}${hash.at(-1)}`) : passed;
    await using system = await startHooked([{ text: "-" }], adds, { manifest: { hooks } });

    expect(await system.query("What is it?")).toMatchObject({ response: "-abc" });
  });

  test("of one service is enough to refuse", async () => {
    const hooks = [hooksOf("a"), { ...hooksOf("b"), beforeAnswer: false }, hooksOf("c")];
    const refuses = (call: HookCall, _: AbortSignal, hash: string) =>
      call.hook === "beforeAnswer" && hash === "hash of c" ? refusal : passed;
    await using system = await startHooked([{ text: SECRET }], refuses, { manifest: { hooks } });

    const { answer, left } = await system.ask("What is it?");

    expect(answer).toMatchObject({ code: "refused" });
    expect(left).not.toContain(SECRET);
    expect(system.calls.filter(({ hook }) => hook === "beforeAnswer")).toHaveLength(2);
  });

  test("a run that is cancelled while a hook runs stores the cost of its turn and none of its text", async () => {
    const running = Promise.withResolvers<void>();
    await using system = await startHooked([{ text: `It is ${SECRET}.` }], async (call, signal) => {
      if (call.hook === "beforeQuery") return passed;
      running.resolve();
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
      return passed;
    });
    const run = await system.start("What is it?");
    await running.promise;

    await system.runs.cancel(system.caller, run.runId);

    expect(await system.result(run)).toMatchObject({
      code: "cancelled",
      usage: { inputTokens: 10, outputTokens: 5 },
    });
    expect(JSON.stringify(await system.store.runs.checkpoint(run.runId))).not.toContain(SECRET);
  });

  test("a run that resumes between the answer and its hook runs the hook again before it shows a text", async () => {
    await using store = await memoryStore();
    const running = Promise.withResolvers<void>();
    const hangs = async (call: HookCall) => {
      if (call.hook === "beforeQuery") return passed;
      running.resolve();
      return await new Promise<never>(() => {});
    };
    const first = await startHooked([{ text: `It is ${SECRET}.` }], hangs, { store });
    const run = await first.start("What is it?");
    await running.promise;
    expect(JSON.stringify([await store.runs.checkpoint(run.runId), await first.events(run.runId)])).not.toContain(
      SECRET,
    );
    // The state after a crash: the owner and its lease have ended.
    await store.runs.release("replica-1", [run.runId], { crashed: true });

    await using second = await startHooked([{ text: `It is ${SECRET}.` }], masks, { store, owner: "replica-2" });
    const result = await second.result(run);

    expect(result).toMatchObject({ success: true, response: "It is ***." });
    expect(second.calls).toMatchObject([{ hook: "beforeAnswer", answer: `It is ${SECRET}.` }]);
    expect(JSON.stringify([await store.runs.checkpoint(run.runId), await second.events(run.runId)])).not.toContain(
      SECRET,
    );
    await first[Symbol.asyncDispose]();
  });
});
