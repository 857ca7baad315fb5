import type { LiveEvent, RunEvent } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import { callsOf, exchangesOf, NOTHING_TOLD, shownTitle, tell } from "../../src/pages/conversation/exchange.ts";
import { joined } from "../../src/pages/conversation/thread-parts.ts";
import { runSummary } from "./parts.ts";

type AnyEvent = RunEvent | LiveEvent;

const told = (...events: AnyEvent[]) =>
  events.reduce((before, event, at) => tell(before, { event, seq: at, raw: `data: ${at}`, atMs: at }), NOTHING_TOLD);

const usage = { inputTokens: 3, outputTokens: 4, cachedInputTokens: 0, cacheWriteInputTokens: 0, costUsd: 0.5 };
const ids = { threadId: "thr_1", runId: "run_1" };
const toolCall: AnyEvent = { type: "toolCall", toolName: "find", toolCallId: "c1", parameters: { id: 1 } };

describe("what events come to", () => {
  test("tokens add up to the answer, which the final response replaces", () => {
    const tokens = told({ type: "responseDelta", content: "Tw" }, { type: "responseDelta", content: "o" });
    const final: AnyEvent = {
      type: "finalResponse",
      response: "Two.",
      ...ids,
      executionTimeMs: 9,
      toolInteractions: [],
      usage,
    };

    expect(tokens.answer).toBe("Two");
    expect(tell(tokens, { event: final, seq: 1, raw: "", atMs: 9 })).toMatchObject({
      answer: "Two.",
      end: { ok: true, executionTimeMs: 9, costUsd: 0.5 },
    });
  });

  test("text said beside a call is a thought, not the beginning of the answer", () => {
    const { answer, steps } = told(
      { type: "responseDelta", content: "Let me look." },
      { type: "deltaReset" },
      { type: "thought", content: "Let me look." },
      toolCall,
      { type: "responseDelta", content: "Found." },
    );

    expect(answer).toBe("Found.");
    expect(steps.map(({ kind }) => kind)).toEqual(["thought", "call"]);
  });

  test("what was streamed of a failed attempt is discarded", () => {
    const { answer, steps } = told(
      { type: "thoughtDelta", content: "Half a thou" },
      { type: "responseDelta", content: "Half an ans" },
      { type: "deltaReset" },
      { type: "responseDelta", content: "Whole." },
    );

    expect([answer, steps]).toEqual(["Whole.", []]);
  });

  test("a thought that was streamed is shown once, when it is whole", () => {
    const streaming = told({ type: "thoughtDelta", content: "a" }, { type: "thoughtDelta", content: "b" });
    const whole = tell(streaming, { event: { type: "thought", content: "abc" }, seq: 1, raw: "", atMs: 2 });

    expect(streaming.steps).toEqual([{ kind: "thought", text: "ab", live: true }]);
    expect(whole.steps).toEqual([{ kind: "thought", text: "abc", live: false }]);
  });

  test("progress and results go to their call, also where calls run side by side", () => {
    const second: AnyEvent = { ...toolCall, toolCallId: "c2" };
    const calls = callsOf(
      told(
        toolCall,
        second,
        { type: "toolProgress", toolCallId: "c2", data: 50 },
        { type: "toolResult", toolName: "find", toolCallId: "c2", success: false, errorMessage: "No.", code: "denied" },
        { type: "toolResult", toolName: "find", toolCallId: "c1", success: true, result: [1] },
      ),
    );

    expect(calls).toMatchObject([
      { id: "c1", progress: [], outcome: { ok: true, result: [1] } },
      { id: "c2", progress: [50], outcome: { ok: false, code: "denied", errorMessage: "No." } },
    ]);
  });

  test("a call shows the arguments as its handler got them, once its result says so", () => {
    const parameters = { id: "1", copies: 1 };
    const result: AnyEvent = { type: "toolResult", toolName: "find", toolCallId: "c1", success: true, result: [1] };

    expect(callsOf(told(toolCall, { ...result, parameters }))).toMatchObject([{ parameters }]);
    expect(callsOf(told(toolCall, result))).toMatchObject([{ parameters: toolCall.parameters }]);
  });

  test("every event is listed; tokens in a row are one entry that holds them all", () => {
    const { entries } = told(
      { type: "responseDelta", content: "a" },
      { type: "responseDelta", content: "b" },
      toolCall,
      { type: "responseDelta", content: "c" },
    );

    expect(entries.map(({ type, payloads, raw, atMs }) => [type, payloads.length, raw.length, atMs])).toEqual([
      ["responseDelta", 2, 2, 0],
      ["toolCall", 1, 1, 2],
      ["responseDelta", 1, 1, 3],
    ]);
  });
});

describe("a thread", () => {
  const message = (role: "user" | "assistant", runId: string) => ({
    role,
    content: `${role} ${runId}`,
    runId,
    createdAt: "2026-01-01T00:00:00.000Z",
  });

  test("pairs queries with their answers, and leaves those open that failed", () => {
    const exchanges = exchangesOf({
      messages: [message("user", "run_1"), message("assistant", "run_1"), message("user", "run_2")],
      runs: [runSummary({ runId: "run_1" }), runSummary({ runId: "run_2", status: "failed" })],
    });

    expect(exchanges.map(({ query, answer, run }) => [query, answer, run.status])).toEqual([
      ["user run_1", "assistant run_1", "succeeded"],
      ["user run_2", undefined, "failed"],
    ]);
  });

  test("is one conversation, oldest query first, whatever parts it was read in", () => {
    const part = (name: string) => ({
      threadId: "thr_1",
      sessionId: null,
      title: "t",
      createdAt: "2026-01-01T00:00:00.000Z",
      updatedAt: "2026-01-01T00:00:00.000Z",
      messages: [message("user", `${name}_1`), message("user", `${name}_2`)],
      runs: [runSummary({ runId: `${name}_1` }), runSummary({ runId: `${name}_2` })],
      figures: { queries: 4, inputTokens: 0, outputTokens: 0, costUsd: 0 },
      nextCursor: null,
    });

    const thread = joined([part("new"), part("old")]);

    expect(exchangesOf(thread!).map(({ run }) => run.runId)).toEqual(["old_1", "old_2", "new_1", "new_2"]);
    expect(joined([])).toBeUndefined();
  });

  test("shows that its title was cut", () => {
    expect(shownTitle("x".repeat(80))).toMatch(/x…$/);
    expect(shownTitle("short")).toBe("short");
  });
});
