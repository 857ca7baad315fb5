import { expect, test } from "vitest";
import { readServerEvents, type ServerEvent } from "../src/api/server-events.ts";

const bytesOf = (...chunks: string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });

async function all(bytes: ReadableStream<Uint8Array>): Promise<ServerEvent[]> {
  const events = [];
  for await (const event of readServerEvents(bytes)) events.push(event);
  return events;
}

test("events are read with their id and as they were sent", async () => {
  const events = await all(bytesOf('id: 4\ndata: {"a":1}\n\n: keepalive\n\ndata: two\ndata: lines\n\n'));

  expect(events).toEqual([
    { id: "4", data: '{"a":1}', raw: 'id: 4\ndata: {"a":1}' },
    { id: "4", data: "two\nlines", raw: "data: two\ndata: lines" },
  ]);
});

test("bytes may be cut anywhere, within a character too", async () => {
  const whole = new TextEncoder().encode("id: 1\ndata: größer – 🦊\n\n");
  for (let cut = 1; cut < whole.length; cut += 1) {
    const bytes = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(whole.slice(0, cut));
        controller.enqueue(whole.slice(cut));
        controller.close();
      },
    });
    expect(await all(bytes)).toMatchObject([{ id: "1", data: "größer – 🦊" }]);
  }
});

test("an event that the end cuts off is not given out", async () => {
  expect(await all(bytesOf("data: whole\n\ndata: cut\n"))).toMatchObject([{ data: "whole" }]);
});

test("a reader that stops early ends the connection", async () => {
  let cancelled = false;
  const bytes = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode("data: again\n\n")),
    cancel: () => void (cancelled = true),
  });

  for await (const _event of readServerEvents(bytes)) break;

  expect(cancelled).toBe(true);
});
