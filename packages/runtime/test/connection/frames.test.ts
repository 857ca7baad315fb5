import { FRAME_DEPTH, LIMITS, type RuntimeFrame } from "@patchbay/protocol";
import { type JsonValue } from "@patchbay/kit";
import { expect, test } from "vitest";
import { encodeFrame, encodeResult, parseControlPlaneFrame } from "../../src/connection/frames.ts";

const progress = (data: JsonValue): RuntimeFrame => ({
  type: "progress",
  callId: "c-1",
  data,
});
const emptyBytes = JSON.stringify(progress("")).length;

test("a frame may have frameBytes bytes of UTF-8, and not one more", () => {
  const roomBytes = LIMITS.frameBytes - emptyBytes;

  expect(encodeFrame(progress("x".repeat(roomBytes)))).toHaveLength(LIMITS.frameBytes);
  expect(encodeFrame(progress("x".repeat(roomBytes + 1)))).toBe(undefined);
  expect(encodeFrame(progress("é".repeat(Math.ceil((roomBytes + 1) / 2))))).toBe(undefined);
});

test("a frame may nest FRAME_DEPTH levels, and not one more", () => {
  const nested = (depth: number) => JSON.parse("[".repeat(depth) + "]".repeat(depth)) as [];

  expect(encodeFrame(progress(nested(FRAME_DEPTH - 1)))).toBeTypeOf("string");
  expect(encodeFrame(progress(nested(FRAME_DEPTH)))).toBe(undefined);
});

test("a result that does not fit with its input is sent without it, and otherwise becomes a failure", () => {
  const large = "x".repeat(LIMITS.frameBytes / 2);
  const outcomeOf = (text: string) => (JSON.parse(text) as { outcome: object }).outcome;

  expect(outcomeOf(encodeResult("c-1", 1, { ok: true, value: 1, input: 2 }))).toEqual({ ok: true, value: 1, input: 2 });
  expect(outcomeOf(encodeResult("c-1", 1, { ok: true, value: large, input: large }))).toEqual({
    ok: true,
    value: large,
  });
  expect(outcomeOf(encodeResult("c-1", 1, { ok: true, value: large + large }))).toMatchObject({
    ok: false,
    code: "result_too_large",
  });
});

test.each([
  ["{", "is not valid JSON"],
  ["[".repeat(FRAME_DEPTH + 1), `must not nest deeper than ${FRAME_DEPTH}`],
  ['{"type":"dance"}', "type: Invalid discriminator value"],
  ['{"type":"resultAck","callId":""}', "callId: "],
])("the text %j is refused with a reason", (text, reason) => {
  const parsed = parseControlPlaneFrame(text);

  expect(parsed).toEqual({ ok: false, message: expect.stringContaining(reason) as string });
});
