import { describe, expect, test } from "vitest";
import { ControlPlaneFrame, FRAME_DEPTH, LIMITS, RuntimeFrame } from "../src/index.ts";
import { parseJson, type JsonValue } from "@patchbay/kit";
import { FRAMES, type FrameExample } from "./frame-examples.ts";
import { near, withoutProperty, withProperty } from "./near-misses.ts";

const schemaOf = ({ sender }: FrameExample) => (sender === "runtime" ? RuntimeFrame : ControlPlaneFrame);
const accepts = (example: FrameExample, frame: unknown): boolean => schemaOf(example).safeParse(frame).success;

describe.each(FRAMES.map((example) => [example.name, example] as const))("%s", (_, example) => {
  const { frame, optional = [], texts = {}, numbers = {}, lists = {} } = example;

  test("is accepted unchanged", () => {
    expect(schemaOf(example).parse(frame)).toEqual(frame);
  });

  test("is refused from the other side", () => {
    const other = example.sender === "runtime" ? ControlPlaneFrame : RuntimeFrame;
    expect(other.safeParse(frame).success).toBe(false);
  });

  test("needs each property that is not optional", () => {
    const required = near.paths(frame, example.json).filter((path) => !accepts(example, withoutProperty(frame, path)));
    expect(required).toEqual(near.paths(frame, example.json).filter((path) => !optional.includes(path)));
  });

  test("refuses each property of a wrong type", () => {
    const accepted = near
      .wrongTypes(frame, example.json)
      .filter(([path, value]) => accepts(example, withProperty(frame, path, value)));
    expect(accepted).toEqual([]);
  });

  test("drops unknown properties at every level", () => {
    for (const path of near.objects(frame, example.json)) {
      const more = withProperty(frame, path === "" ? "surprise" : `${path}.surprise`, 1);
      expect(schemaOf(example).parse(more), path).toEqual(frame);
    }
  });

  test.each(Object.entries(texts))("limits the characters of %s", (path, [least, most]) => {
    const at = (length: number) => accepts(example, withProperty(frame, path, "x".repeat(length)));
    expect(at(least)).toBe(true);
    if (least > 0) expect(at(least - 1)).toBe(false);
    if (most !== Infinity) expect([at(most), at(most + 1)]).toEqual([true, false]);
  });

  test.each(Object.entries(numbers))("limits the number %s", (path, [least, most]) => {
    const at = (value: number) => accepts(example, withProperty(frame, path, value));
    expect([at(least), at(most), at(least - 1), at(most + 1), at(least + 0.5)]).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  test.each(Object.entries(lists))("limits the items of %s", (path, most) => {
    const item = (near.get(frame, path) as JsonValue[])[0]!;
    const at = (length: number) =>
      accepts(
        example,
        withProperty(
          frame,
          path,
          Array.from({ length }, () => item),
        ),
      );
    expect([at(0), at(most), at(most + 1)]).toEqual([true, true, false]);
  });
});

test("every type of frame has an example", () => {
  const typesOf = (schema: typeof RuntimeFrame | typeof ControlPlaneFrame) =>
    schema.options.map(({ shape }) => shape.type.value as string);
  expect(new Set(FRAMES.map(({ frame }) => frame["type"]))).toEqual(
    new Set([...typesOf(RuntimeFrame), ...typesOf(ControlPlaneFrame)]),
  );
});

test.each([null, [], "hello", 7, {}, { type: "hallo" }, { type: ["hello"] }, { type: "__proto__" }])(
  "%j is not a frame",
  (value) => {
    expect(RuntimeFrame.safeParse(value).success).toBe(false);
    expect(ControlPlaneFrame.safeParse(value).success).toBe(false);
  },
);

test("a runtime cannot set the origin of a function or the hooks of a combined set", () => {
  const hello = FRAMES.find(({ name }) => name === "hello")!.frame;
  const origin = { service: "other", manifestHash: "hash" };
  const forged = withProperty(withProperty(hello, "manifest.functions.0.origin", origin), "manifest.hooks", [
    { ...origin, beforeQuery: true, beforeAnswer: true },
  ]);

  expect(RuntimeFrame.parse(forged)).toEqual(hello);
});

describe("a frame as text", () => {
  const call = (context: string) =>
    `{"type":"call","callId":"c1","attempt":1,"function":"f","arguments":{},"context":${context},"threadId":"t","runId":"r","timeoutMs":1}`;
  const nested = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`;
  const parse = (text: string) => {
    const json = parseJson(text, FRAME_DEPTH);
    return json.ok && ControlPlaneFrame.safeParse(json.value).success;
  };

  test("carries a context of the deepest nesting that a request may have", () => {
    expect(parse(call(nested(LIMITS.jsonDepth)))).toBe(true);
  });

  test("is refused when it nests deeper than FRAME_DEPTH", () => {
    expect(parse(call(nested(FRAME_DEPTH - 1)))).toBe(true);
    expect(parse(call(nested(FRAME_DEPTH)))).toBe(false);
  });

  test("has room for the largest context, arguments and function set next to its other properties", () => {
    const roomBytes = LIMITS.frameBytes - call("{}").length;
    expect(LIMITS.contextBytes + LIMITS.resultBytes).toBeLessThan(roomBytes);
    expect(LIMITS.hookTextBytes + LIMITS.contextBytes).toBeLessThan(roomBytes);
  });

  test("loses properties named __proto__", () => {
    const json = parseJson(call('{"__proto__":{"admin":true},"a":1}'), FRAME_DEPTH);
    expect(json).toMatchObject({ ok: true, value: { context: { a: 1 } } });
    const { context } = (json as unknown as { value: { context: object } }).value;
    expect([Object.keys(context), (context as { admin?: boolean }).admin]).toEqual([["a"], undefined]);
  });
});
