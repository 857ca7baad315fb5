import type { RunTrace } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { addEvent, EMPTY_TRANSCRIPT } from "../../src/parts/conversation/exchange.ts";
import { resultOf } from "../../src/pages/functions/test-run.ts";

const toolCall = { type: "toolCall", toolName: "show", toolCallId: "call_1", parameters: {} } as const;
const transcriptOf = (outcome: object) =>
  [toolCall, { type: "toolResult", toolName: "show", toolCallId: "call_1", ...outcome } as never].reduce(
    (before, event, seq) => addEvent(before, { event, seq, raw: "" }),
    EMPTY_TRANSCRIPT,
  );

const call = {
  id: "call_1",
  kind: "call",
  startMs: 5,
  endMs: 12,
  rule: null,
  code: null,
  errorMessage: null,
  output: "cut…",
  attributes: { runtime: "rt_1", withheld: ["cost"], truncated: ["output"] },
};
const traceOf = (...spans: object[]) =>
  ({ runId: "run_1", code: "failed", errorMessage: "No.", durationMs: 9, spans }) as unknown as RunTrace;

test("the result has the whole value of the events, and the checks and times of the trace", () => {
  expect(resultOf(traceOf(call), transcriptOf({ success: true, result: { id: 3 } }))).toEqual({
    runId: "run_1",
    callId: "call_1",
    runtime: "rt_1",
    ok: true,
    value: { id: 3 },
    redacted: ["cost"],
    code: null,
    errorMessage: null,
    rule: null,
    durationMs: 7,
  });
});

test("a denied call has its rule, and a failed one the error that its owner reported", () => {
  const denied = { ...call, rule: "authorize", code: "denied", errorMessage: "Not yours." };
  const error = { name: "TypeError", message: "x" };

  expect(resultOf(traceOf({ ...denied, error }), transcriptOf({ success: false, code: "denied" }))).toMatchObject({
    ok: false,
    code: "denied",
    errorMessage: "Not yours.",
    rule: "authorize",
    error,
  });
});

test("a run that ended before its call has its own error", () => {
  expect(resultOf(traceOf(), EMPTY_TRANSCRIPT)).toMatchObject({
    ok: false,
    code: "failed",
    errorMessage: "No.",
    callId: null,
    durationMs: 9,
  });
});
