import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createSseParser, readSse, type SseEvent } from "../../src/models/sse-reader.ts";

function parse(text: string, cuts: readonly number[] = []): SseEvent[] {
  const bytes = new TextEncoder().encode(text);
  const parser = createSseParser();
  const edges = [0, ...[...cuts].sort((a, b) => a - b).filter((cut) => cut < bytes.length), bytes.length];
  return edges.slice(1).flatMap((edge, i) => parser.push(bytes.subarray(edges[i], edge)));
}

test("events have their data and, where it is named, their type", () => {
  expect(parse("event: ping\ndata: {}\n\ndata: two\n\n")).toEqual([{ event: "ping", data: "{}" }, { data: "two" }]);
});

test("several data lines are one text with line breaks", () => {
  expect(parse("data: a\ndata:b\ndata\ndata:  c\n\n")).toEqual([{ data: "a\nb\n\n c" }]);
});

test("comments, other fields and events without data are passed over", () => {
  expect(parse(": keepalive\n\nid: 4\nretry: 10\nevent: lonely\n\ndata: x\nunknown\n\n")).toEqual([{ data: "x" }]);
});

test("a byte order mark at the beginning is no part of the first line", () => {
  expect(parse("\uFEFFdata: x\n\n")).toEqual([{ data: "x" }]);
});

test("an event that the bytes end in is not given out", () => {
  expect(parse("data: whole\n\ndata: {}\n")).toEqual([{ data: "whole" }]);
});

test("an event is the same wherever its bytes are cut, with every line end", () => {
  const texts = fc.array(fc.string({ unit: "grapheme", maxLength: 12 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(texts, fc.constantFrom("\n", "\r\n", "\r"), fc.array(fc.nat(300)), (texts, newline, cuts) => {
      const data = texts.map((text) => text.replaceAll(/[\r\n]/g, "").trim());
      const text = data.map((item) => `event: é${newline}data: ${item}${newline}: c${newline}${newline}`).join("");
      expect(parse(text, cuts)).toEqual(data.map((item) => ({ event: "é", data: item })));
    }),
  );
});

test("a line without an end is refused before it fills the memory", () => {
  const parser = createSseParser({ maxLineUnits: 100 });
  parser.push(new Uint8Array(80).fill(97));

  expect(() => parser.push(new Uint8Array(80).fill(97))).toThrow("above 100 characters");
});

test("data lines without an end are refused as well", () => {
  const parser = createSseParser({ maxLineUnits: 100 });
  const line = new TextEncoder().encode(`data: ${"a".repeat(60)}\n`);
  parser.push(line);

  expect(() => parser.push(line)).toThrow("above 100 characters");
});

test("who stops reading cancels the body", async () => {
  const { promise: cancelled, resolve } = Promise.withResolvers<unknown>();
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode("data: x\n\n")),
    cancel: resolve,
  });

  for await (const events of readSse(body)) if (events.length > 0) break;

  await cancelled;
});
