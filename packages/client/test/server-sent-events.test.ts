import { expect, test } from "vitest";
import { readServerSentEvents, type ServerSentEvent } from "../src/index.ts";

const encoder = new TextEncoder();

function streamOf(...chunks: (string | Uint8Array)[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(typeof chunk === "string" ? encoder.encode(chunk) : chunk);
      controller.close();
    },
  });
}

async function read(body: ReadableStream<Uint8Array>, onRetry?: (ms: number) => void): Promise<ServerSentEvent[]> {
  const events = [];
  for await (const event of readServerSentEvents(body, onRetry)) events.push(event);
  return events;
}

const bytes = encoder.encode(
  ': keepalive\n\nid: 1\ndata: {"a":"ü€😀"}\n\ndata: live\r\n\r\nid: 2\rdata: x\rdata: y\r\r',
);
const expected = [
  { id: "1", data: '{"a":"ü€😀"}', raw: 'id: 1\ndata: {"a":"ü€😀"}' },
  { id: undefined, data: "live", raw: "data: live" },
  { id: "2", data: "x\ny", raw: "id: 2\ndata: x\ndata: y" },
];

test("events are read whole when the bytes are split anywhere", async () => {
  for (let cut = 0; cut <= bytes.length; cut += 1)
    expect(await read(streamOf(bytes.subarray(0, cut), bytes.subarray(cut), "\n"))).toEqual(expected);
});

test("events are read whole from single bytes", async () => {
  expect(await read(streamOf(...Array.from(bytes, (byte) => Uint8Array.of(byte)), "\n"))).toEqual(expected);
});

test("an event that the end of the stream cuts off is dropped with its id", async () => {
  expect(await read(streamOf("id: 1\ndata: a\n\nid: 2\ndata: b\n"))).toMatchObject([{ id: "1", data: "a" }]);
});

test("onRetry receives the pause that the server asks for", async () => {
  const pauses: number[] = [];
  await read(streamOf("retry: 1000\n\nretry: soon\n\n"), (ms) => pauses.push(ms));
  expect(pauses).toEqual([1000]);
});

test("a consumer that stops early cancels the body", async () => {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(encoder.encode("data: again\n\n")),
    cancel: () => void (cancelled = true),
  });

  for await (const _event of readServerSentEvents(body)) break;

  expect(cancelled).toBe(true);
});
