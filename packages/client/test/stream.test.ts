import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { createClient, followEvents, type ClientOptions, type StreamedEvent } from "../src/index.ts";
import { events, json, startFakeService } from "./support/fake-service.ts";

const thought = (content: string) => ({ type: "thought", content });
const final = { type: "finalResponse", response: "Größe – 🦊", threadId: "thr_1", runId: "run_1" };

const clientFor = (baseUrl: string, options: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl, agentId: "agt_1", apiKey: "k", ...options });

async function all(stream: AsyncIterable<StreamedEvent>): Promise<[number | undefined, string][]> {
  const seen: [number | undefined, string][] = [];
  for await (const { id, event } of stream) seen.push([id, "content" in event ? event.content : event.type]);
  return seen;
}

/** Answers with these pieces of a stream, each in a write of its own, and then does what `end` says. */
function pieces(
  texts: (string | Uint8Array)[],
  end: (response: ServerResponse) => void = (response) => response.end(),
) {
  return (response: ServerResponse) => {
    response.writeHead(200, { "Content-Type": "text/event-stream", "X-Run-Id": "run_1", "X-Thread-Id": "thr_1" });
    const write = (index: number): void => {
      const text = texts[index];
      if (text === undefined) end(response);
      else response.write(text, () => setImmediate(() => write(index + 1)));
    };
    write(0);
  };
}

test("queryStream names the run first, then yields stored and live events up to the last one", async () => {
  await using service = await startFakeService([
    pieces([
      `id: 1\ndata: ${JSON.stringify(thought("a"))}\n\ndata: {"type":"responseDelta","content":"b"}\n\n`,
      `id: 2\ndata: ${JSON.stringify(final)}\n\n`,
    ]),
  ]);
  const started: unknown[] = [];

  const stream = clientFor(service.url).queryStream({ query: "Which?" }, { onStart: (run) => started.push(run) });

  expect(await all(stream)).toEqual([
    [1, "a"],
    [undefined, "b"],
    [2, "finalResponse"],
  ]);
  expect(started).toEqual([{ runId: "run_1", threadId: "thr_1" }]);
  expect(service.requests).toMatchObject([
    { path: "/agents/agt_1/query-stream", headers: { accept: "text/event-stream" } },
  ]);
});

test("characters and lines that are split between packets are read whole", async () => {
  const bytes = new TextEncoder().encode(`id: 1\r\ndata: ${JSON.stringify(final)}\r\n\r\n`);
  await using service = await startFakeService([pieces(Array.from(bytes, (byte) => Uint8Array.of(byte)))]);

  for await (const { event } of clientFor(service.url).queryStream({ query: "Which?" })) expect(event).toEqual(final);
});

test("a stream that breaks twice is resumed without loss or repeats", async () => {
  await using service = await startFakeService([
    events([thought("one"), thought("two")], { cut: true }),
    (response) => void response.destroy(),
    json(503, {}),
    events([thought("three")], { from: 3, cut: true }),
    events([thought("four"), final], { from: 4 }),
  ]);

  expect(await all(clientFor(service.url).queryStream({ query: "Which?" }))).toEqual([
    [1, "one"],
    [2, "two"],
    [3, "three"],
    [4, "four"],
    [5, "finalResponse"],
  ]);
  expect(service.requests.map(({ method, path, headers }) => [method, path, headers["last-event-id"]])).toEqual([
    ["POST", "/agents/agt_1/query-stream", undefined],
    ["GET", "/agents/agt_1/runs/run_1/events", "2"],
    ["GET", "/agents/agt_1/runs/run_1/events", "2"],
    ["GET", "/agents/agt_1/runs/run_1/events", "2"],
    ["GET", "/agents/agt_1/runs/run_1/events", "3"],
  ]);
});

test("events that a resumed stream repeats are dropped", async () => {
  await using service = await startFakeService([
    events([thought("one"), thought("two")], { cut: true }),
    events([thought("one"), thought("two"), final]),
  ]);

  expect(await all(clientFor(service.url).queryStream({ query: "Which?" }))).toEqual([
    [1, "one"],
    [2, "two"],
    [3, "finalResponse"],
  ]);
});

test("followRun begins after an event and ends when none are left", async () => {
  await using service = await startFakeService([
    events([final], { from: 8 }),
    (response) => void response.writeHead(204).end(),
  ]);
  const client = clientFor(service.url);

  expect(await all(client.followRun("run_1", { after: 7 }))).toEqual([[8, "finalResponse"]]);
  expect(await all(client.followRun("run_1", { after: 8 }))).toEqual([]);
  expect(service.requests.map(({ headers }) => headers["last-event-id"])).toEqual(["7", "8"]);
});

test("a stream that stays broken fails with stream_lost", async () => {
  const broken = events([], { cut: true });
  await using service = await startFakeService([broken, broken, broken]);

  await expect(all(clientFor(service.url, { maxRetries: 2 }).queryStream({ query: "Which?" }))).rejects.toMatchObject({
    code: "stream_lost",
    message: expect.stringContaining("The run continues on the service."),
  });
  expect(service.requests).toHaveLength(3);
});

test("a refusal ends a resumed stream with its code", async () => {
  const body = { success: false, errorMessage: "Run not found", code: "not_found", requestId: "req_1" };
  await using service = await startFakeService([events([thought("one")], { cut: true }), json(404, body)]);

  await expect(all(clientFor(service.url).queryStream({ query: "Which?" }))).rejects.toMatchObject({
    code: "not_found",
    status: 404,
    requestId: "req_1",
  });
});

test("an event that is not JSON ends the stream with invalid_response", async () => {
  await using service = await startFakeService([pieces(["id: 1\ndata: {\n\n"])]);

  await expect(all(clientFor(service.url).queryStream({ query: "Which?" }))).rejects.toMatchObject({
    code: "invalid_response",
  });
});

test("abort ends an open stream with the signal's reason", async () => {
  const closed = Promise.withResolvers<void>();
  await using service = await startFakeService([
    pieces([`id: 1\ndata: ${JSON.stringify(thought("one"))}\n\n`], (response) => response.on("close", closed.resolve)),
  ]);
  const aborter = new AbortController();
  const seen: StreamedEvent[] = [];

  const following = (async () => {
    for await (const event of clientFor(service.url).queryStream({ query: "Which?" }, { signal: aborter.signal })) {
      seen.push(event);
      aborter.abort(new Error("no longer needed"));
    }
  })();

  await expect(following).rejects.toThrow("no longer needed");
  await closed.promise;
  expect(seen).toHaveLength(1);
  expect(service.requests).toHaveLength(1);
});

test("a consumer that leaves the loop closes the connection", async () => {
  const closed = Promise.withResolvers<void>();
  await using service = await startFakeService([
    pieces([`id: 1\ndata: ${JSON.stringify(thought("one"))}\n\n`], (response) => response.on("close", closed.resolve)),
  ]);

  for await (const _event of clientFor(service.url).queryStream({ query: "Which?" })) break;

  await closed.promise;
});

test.each([
  [300_000, Array<number>(12).fill(1_000)],
  [1_000, [1_000, 2_000, 4_000, 8_000, 8_000, 8_000, 8_000, 8_000]],
])("streams that end after %d ms without an event are resumed after pauses of %j", async (heldMs, expected) => {
  let time = 0;
  const held = (): Response => {
    const pull = (stream: ReadableStreamDefaultController) => {
      time += heldMs;
      stream.enqueue(new TextEncoder().encode("retry: 1000\n\n"));
      stream.close();
    };
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
  };
  const pauses: number[] = [];
  const done = new AbortController();
  const pause = async (ms: number) => {
    if (pauses.push(ms) === 12) done.abort(new Error("enough"));
  };

  const followed = followEvents(held(), { resume: async () => held(), signal: done.signal, now: () => time, pause });

  await expect(all(followed)).rejects.toThrow(/enough|could not be resumed/);
  expect(pauses).toEqual(expected);
});
