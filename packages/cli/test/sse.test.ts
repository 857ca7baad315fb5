import { expect, test } from "vitest";
import { readEvents } from "../src/client/sse.ts";

const encoder = new TextEncoder();

async function* chunks(...texts: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield typeof text === "string" ? encoder.encode(text) : text;
}

async function read(
  source: AsyncIterable<Uint8Array>,
  onRetry?: (ms: number) => void,
): Promise<[string | undefined, string][]> {
  const events: [string | undefined, string][] = [];
  for await (const { id, data } of readEvents(source, onRetry)) events.push([id, data]);
  return events;
}

const stream = ': keepalive\n\nid: 1\ndata: {"a":"ü€😀"}\n\ndata: live\r\n\r\nid: 2\rdata: x\rdata: y\r\r';
const expected = [
  ["1", '{"a":"ü€😀"}'],
  ["1", "live"],
  ["2", "x\ny"],
];

test("events are read whole wherever the bytes are cut", async () => {
  const bytes = encoder.encode(stream);
  for (let cut = 0; cut <= bytes.length; cut += 1)
    expect(await read(chunks(bytes.subarray(0, cut), bytes.subarray(cut), "\n"))).toEqual(expected);
});

test("an event that the end cuts off is not given out", async () => {
  expect(await read(chunks("id: 1\ndata: a\n\nid: 2\ndata: b\n"))).toEqual([["1", "a"]]);
});

test("the pause that the server asks for is told", async () => {
  const pauses: number[] = [];
  await read(chunks("retry: 1000\n\nretry: soon\n\n"), (ms) => pauses.push(ms));
  expect(pauses).toEqual([1000]);
});
