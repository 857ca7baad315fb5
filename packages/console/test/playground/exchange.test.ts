import type { LiveEvent, RunEvent } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import { callsOf, exchangesOf, EMPTY_TRANSCRIPT, shownTitle, addEvent } from "../../src/parts/conversation/exchange.ts";
import { joinPages } from "../../src/parts/conversation/past-exchange.tsx";
import { runSummary } from "./parts.ts";

type AnyEvent = RunEvent | LiveEvent;

const transcriptOf = (...events: AnyEvent[]) =>
  events.reduce(
    (before, event, at) => addEvent(before, { event, seq: at, raw: `data: ${at}`, afterMs: at }),
    EMPTY_TRANSCRIPT,
  );

const usage = { inputTokens: 3, outputTokens: 4, cachedInputTokens: 0, cacheWriteInputTokens: 0, costUsd: 0.5 };
const ids = { threadId: "thr_1", runId: "run_1" };
const toolCall: AnyEvent = { type: "toolCall", toolName: "find", toolCallId: "c1", parameters: { id: 1 } };

describe("a transcript", () => {
  test("joins tokens to an answer, which the final response replaces", () => {
    const tokens = transcriptOf({ type: "responseDelta", content: "Tw" }, { type: "responseDelta", content: "o" });
    const final: AnyEvent = {
      type: "finalResponse",
      response: "Two.",
      ...ids,
      executionTimeMs: 9,
      toolInteractions: [],
      usage,
    };

    expect(tokens.answer).toBe("Two");
    expect(addEvent(tokens, { event: final, seq: 1, raw: "", afterMs: 9 })).toMatchObject({
      answer: "Two.",
      end: { ok: true, executionTimeMs: 9, usage: { costUsd: 0.5 } },
    });
  });

  test("treats text next to a call as a thought, not as the start of the answer", () => {
    const { answer, steps } = transcriptOf(
      { type: "responseDelta", content: "Let me look." },
      { type: "deltaReset" },
      { type: "thought", content: "Let me look." },
      toolCall,
      { type: "responseDelta", content: "Found." },
    );

    expect(answer).toBe("Found.");
    expect(steps.map(({ kind }) => kind)).toEqual(["thought", "call"]);
  });

  test("discards the tokens of a failed attempt", () => {
    const { answer, steps } = transcriptOf(
      { type: "thoughtDelta", content: "Half a thou" },
      { type: "responseDelta", content: "Half an ans" },
      { type: "deltaReset" },
      { type: "responseDelta", content: "Whole." },
    );

    expect([answer, steps]).toEqual(["Whole.", []]);
  });

  test("says that the model is asked again, until the next event", () => {
    const kept = transcriptOf(toolCall, { type: "modelStatus", state: "retrying", attempt: 4, waitMs: 1_500 });

    expect(kept.status).toBe("The model did not answer. Asking it again…");
    expect(addEvent(kept, { event: { type: "deltaReset" }, seq: undefined, raw: "" }).status).toBeUndefined();
  });

  test("replaces a streamed thought with the whole one", () => {
    const streaming = transcriptOf({ type: "thoughtDelta", content: "a" }, { type: "thoughtDelta", content: "b" });
    const whole = addEvent(streaming, { event: { type: "thought", content: "abc" }, seq: 1, raw: "", afterMs: 2 });

    expect(streaming.steps).toEqual([{ kind: "thought", text: "ab", live: true }]);
    expect(whole.steps).toEqual([{ kind: "thought", text: "abc", live: false }]);
  });

  test("adds progress and results to their call, also when calls run concurrently", () => {
    const second: AnyEvent = { ...toolCall, toolCallId: "c2" };
    const calls = callsOf(
      transcriptOf(
        toolCall,
        second,
        { type: "toolProgress", toolCallId: "c2", data: 50 },
        { type: "toolResult", toolName: "find", toolCallId: "c2", success: false, errorMessage: "No.", code: "denied" },
        { type: "toolResult", toolName: "find", toolCallId: "c1", success: true, result: [1] },
      ),
    );

    expect(calls).toMatchObject([
      { id: "c1", progress: [], outcome: { ok: true, result: [1] } },
      {
        id: "c2",
        progress: [{ data: 50, receivedAt: undefined }],
        outcome: { ok: false, code: "denied", errorMessage: "No." },
      },
    ]);
  });

  test("shows the arguments that the handler received, if the result contains them", () => {
    const parameters = { id: "1", copies: 1 };
    const result: AnyEvent = { type: "toolResult", toolName: "find", toolCallId: "c1", success: true, result: [1] };

    expect(callsOf(transcriptOf(toolCall, { ...result, parameters }))).toMatchObject([{ parameters }]);
    expect(callsOf(transcriptOf(toolCall, result))).toMatchObject([{ parameters: toolCall.parameters }]);
  });

  test("lists every event, with consecutive tokens in one entry", () => {
    const { entries } = transcriptOf(
      { type: "responseDelta", content: "a" },
      { type: "responseDelta", content: "b" },
      toolCall,
      { type: "responseDelta", content: "c" },
    );

    expect(entries.map(({ type, payloads, raw, afterMs }) => [type, payloads.length, raw.length, afterMs])).toEqual([
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

  test("pairs queries with their answers; failed queries have none", () => {
    const exchanges = exchangesOf({
      messages: [message("user", "run_1"), message("assistant", "run_1"), message("user", "run_2")],
      runs: [runSummary({ runId: "run_1" }), runSummary({ runId: "run_2", status: "failed" })],
    });

    expect(exchanges.map(({ query, answer, run }) => [query, answer, run.status])).toEqual([
      ["user run_1", "assistant run_1", "succeeded"],
      ["user run_2", undefined, "failed"],
    ]);
  });

  test("joins its pages to one conversation, oldest query first", () => {
    const page = (name: string) => ({
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

    const thread = joinPages([page("new"), page("old")]);

    expect(exchangesOf(thread!).map(({ run }) => run.runId)).toEqual(["old_1", "old_2", "new_1", "new_2"]);
    expect(joinPages([])).toBeUndefined();
  });

  test("ends a cut title with an ellipsis", () => {
    expect(shownTitle("x".repeat(80))).toMatch(/x…$/);
    expect(shownTitle("short")).toBe("short");
  });
});
