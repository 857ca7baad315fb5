import type { LogEvent } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { payloadIn } from "../src/pages/runs/span-payload.tsx";

const event = (body: object): LogEvent => ({
  seq: 1,
  at: "2026-11-22T00:00:00Z",
  afterMs: 0,
  body: JSON.stringify(body),
});

const events = [
  event({ type: "toolCall", toolCallId: "other", parameters: { id: 0 } }),
  event({ type: "toolCall", toolCallId: "call_1", parameters: { id: 1 } }),
  event({ type: "toolResult", toolCallId: "call_1", parameters: { id: 1 }, success: true, result: [1, 2] }),
];

test("the whole input and output of a call come from the stored events of its run", () => {
  expect(payloadIn(events, "call_1", "input")).toEqual({ id: 1 });
  expect(payloadIn(events, "call_1", "output")).toEqual([1, 2]);
});

test("events that are not loaded yet do not contain them", () => {
  expect(payloadIn(events.slice(0, 1), "call_1", "input")).toBeUndefined();
});
