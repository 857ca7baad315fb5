import * as fc from "@patchbay/test-support/properties";
import { expect, test } from "vitest";
import { asking } from "./drive.ts";
import { createSseReader, wireProvider } from "../src/turn-stream.ts";

const MAX_DATA_UNITS = 16 * 1024 * 1024;

function parse(text: string, cuts: readonly number[] = []): string[] {
  const bytes = new TextEncoder().encode(text);
  const read = createSseReader();
  const edges = [0, ...[...cuts].sort((a, b) => a - b).filter((cut) => cut < bytes.length), bytes.length];
  return edges.slice(1).flatMap((edge, i) => read(bytes.subarray(edges[i], edge)));
}

test("each event gives its data", () => {
  expect(parse("event: ping\ndata: {}\n\ndata: two\n\n")).toEqual(["{}", "two"]);
});

test("several data lines are one text with line breaks", () => {
  expect(parse("data: a\ndata:b\ndata\ndata:  c\n\n")).toEqual(["a\nb\n\n c"]);
});

test("comments, other fields and events without data are ignored", () => {
  expect(parse(": keepalive\n\nid: 4\nretry: 10\nevent: lonely\n\ndata: x\nunknown\n\n")).toEqual(["x"]);
});

test("a byte order mark at the beginning is not part of the first line", () => {
  expect(parse("\uFEFFdata: x\n\n")).toEqual(["x"]);
});

test("an incomplete event at the end is dropped", () => {
  expect(parse("data: whole\n\ndata: {}\n")).toEqual(["whole"]);
});

test("an event is the same wherever its bytes are cut, with every line end", () => {
  const texts = fc.array(fc.string({ unit: "grapheme", maxLength: 12 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(texts, fc.constantFrom("\n", "\r\n", "\r"), fc.array(fc.nat(300)), (texts, newline, cuts) => {
      const data = texts.map((text) => text.replaceAll(/[\r\n]/g, "").trim());
      const text = data.map((item) => `event: é${newline}data: ${item}${newline}: c${newline}${newline}`).join("");
      expect(parse(text, cuts)).toEqual(data);
    }),
  );
});

test("an endless line is rejected before it fills the memory", () => {
  const read = createSseReader();
  const start = new TextEncoder().encode("data: ");
  read(start);
  read(new Uint8Array(MAX_DATA_UNITS - start.length).fill(97));

  expect(() => read(new Uint8Array(1).fill(97))).toThrow("above 16777216 characters");
});

test("endless data lines are rejected as well", () => {
  const read = createSseReader();
  const line = new TextEncoder().encode(`data: ${"a".repeat(MAX_DATA_UNITS / 2)}\n`);
  read(line);

  expect(() => read(line)).toThrow("above 16777216 characters");
});

test("a reader that stops early cancels the body", async () => {
  const { promise: cancelled, resolve } = Promise.withResolvers<unknown>();
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode("data: {}\n\n")),
    cancel: resolve,
  });

  const accumulator = { take: () => [], end: () => undefined, held: () => [], soFar: () => undefined };
  const provider = wireProvider("openai", () => ({ accumulator, open: async () => new Response(body) }));

  for await (const _event of provider.stream(asking("any"), { signal: new AbortController().signal })) break;

  await cancelled;
});
