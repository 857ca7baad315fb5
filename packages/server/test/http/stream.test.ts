import { describe, expect, test } from "vitest";
import { answerOf, type FakeRun } from "./support/fake-runs.ts";
import { openSocket, requestText } from "./support/raw-socket.ts";
import { parseSse, readStream } from "./support/sse.ts";
import { API_KEY, QUERY, startHttp, STREAM, type TestHttp } from "./support/start-http.ts";

const body = '{"query":"hi"}';
const headers = { "X-API-Key": API_KEY, "Content-Type": "application/json", "Content-Length": String(body.length) };

function endNow(run: FakeRun): void {
  const { result, event } = answerOf(run);
  run.end(result, event);
}

async function openRun(http: TestHttp, sent: unknown = { query: "hi" }, more: Record<string, string> = {}) {
  http.runs.onBegin = () => undefined;
  const response = await http.post(STREAM, sent, more);
  const run = [...http.runs.runs.values()].at(-1)!;
  return { response, run, stream: readStream(response) };
}

describe("endpoint 2", () => {
  test("writes each stored event as an id line, one data line and a blank line, byte for byte", async () => {
    await using http = await startHttp();
    http.runs.onBegin = (run) => {
      run.store({ type: "thought", content: "wörds\nand lines" });
      run.store({ type: "toolCall", toolName: "f", toolCallId: "c1", parameters: { a: [1, null] } });
      run.store({ type: "toolResult", toolName: "f", toolCallId: "c1", success: true, result: "\u2028" });
      endNow(run);
    };

    const text = await (await http.post(STREAM, { query: "hi" })).text();

    const [run] = http.runs.runs.values();
    expect(text).toBe(run!.log.map(({ id, body }) => `id: ${id}\ndata: ${body}\n\n`).join(""));
  });

  test("sends events as they happen", async () => {
    await using http = await startHttp();
    const { run, stream } = await openRun(http);

    run.store({ type: "thought", content: "one" });
    await stream.until((text) => text.includes("one"));
    run.store({ type: "thought", content: "two" });
    await stream.until((text) => text.includes("two"));
    endNow(run);

    expect(parseSse(await stream.rest())).toHaveLength(3);
  });

  test("ends directly after finalResponse or error", async () => {
    await using http = await startHttp();
    for (const type of ["finalResponse", "error"]) {
      http.runs.onBegin = (run) => {
        const { result, event } = answerOf(run);
        const { runId, threadId } = run.handle;
        run.end(result, type === "error" ? { type, errorMessage: "x", code: "internal", runId, threadId } : event);
      };
      const text = await (await http.post(STREAM, { query: "hi" })).text();
      expect(text.endsWith("}\n\n")).toBe(true);
      expect(JSON.parse(parseSse(text).at(-1)!.data)).toMatchObject({ type });
      expect(text).not.toContain("retry:");
    }
  });

  test("ends after a complete event with retry: 1000 when the replica drains", async () => {
    await using http = await startHttp();
    const { run, stream } = await openRun(http);
    run.store({ type: "thought", content: "one" });
    run.drain();
    expect(await stream.rest()).toBe('id: 1\ndata: {"type":"thought","content":"one"}\n\nretry: 1000\n\n');
  });

  test("ends in the same way, and logs it, when the store fails", async () => {
    await using http = await startHttp();
    const { run, stream } = await openRun(http);
    http.runs.followFailure = new Error("disk gone");
    run.store({ type: "thought", content: "one" });
    expect(await stream.rest()).toMatch(/\n\nretry: 1000\n\n$/);
    expect(http.lines).toMatchObject([{ level: "warn", message: "stream cut short" }]);
    expect(run.readers).toHaveLength(0);
  });

  test.each([
    [true, ["responseDelta", "toolProgress", "finalResponse"]],
    [false, ["finalResponse"]],
    [undefined, ["finalResponse"]],
  ])("with includeDeltas %s sends the types %j; live events have no id", async (includeDeltas, types) => {
    await using http = await startHttp();
    http.runs.onBegin = (run) => {
      run.show({ type: "responseDelta", content: "d" });
      run.show({ type: "toolProgress", toolCallId: "c", data: 1 });
      endNow(run);
    };
    const events = parseSse(await (await http.post(STREAM, { query: "hi", includeDeltas })).text());
    expect(events.map(({ data }) => (JSON.parse(data) as { type: string }).type)).toEqual(types);
    expect(events.map(({ id }) => id).filter((id) => id !== undefined)).toEqual(["1"]);
  });

  test("sends comment lines while no event occurs", async () => {
    await using http = await startHttp({ keepaliveMs: 20 });
    const { run, stream } = await openRun(http);
    await stream.until((text) => text.startsWith(": keepalive\n\n".repeat(3)));
    endNow(run);
    expect(parseSse(await stream.rest())).toHaveLength(1);
  });

  test("sends the events of one tick in one chunk", async () => {
    await using http = await startHttp();
    http.runs.onBegin = (run) => {
      for (let i = 0; i < 50; i++) run.store({ type: "thought", content: `thought ${i}` });
      endNow(run);
    };
    using socket = await openSocket(http.port);
    socket.write(requestText("POST", STREAM, { ...headers, Connection: "close" }, body));
    const received = await socket.closed();
    expect(received.match(/^[0-9a-f]+\r$/gm)!.length).toBeLessThanOrEqual(3);
  });
});

describe("a client of a stream that goes away", () => {
  test.each([
    [undefined, false],
    ["cancel", true],
  ])("leaves the run running and frees its resources (X-On-Disconnect: %s)", async (wish, cancelWhenGone) => {
    await using http = await startHttp();
    const { run, stream } = await openRun(http, { query: "hi" }, wish ? { "X-On-Disconnect": wish } : {});
    await run.until(({ followers }) => followers === 1);
    expect(run.readers).toEqual([{ cancelWhenGone }]);
    expect(http.openStreams()).toBe(1);

    await stream.leave();

    await run.until(({ followers, readers }) => followers === 0 && readers.length === 0);
    expect(http.openStreams()).toBe(0);
    expect(run.status).toBe("running");
    expect(http.lines).toEqual([]);
  });

  test("is noticed when its connection breaks", async () => {
    await using http = await startHttp();
    http.runs.onBegin = () => undefined;
    using socket = await openSocket(http.port);
    socket.write(requestText("POST", STREAM, headers, body));
    await socket.until((text) => text.includes("\r\n\r\n"));
    const run = [...http.runs.runs.values()][0]!;
    socket.socket.resetAndDestroy();
    await run.until(({ followers, readers }) => followers === 0 && readers.length === 0);
    expect(http.openStreams()).toBe(0);
  });
});

describe("a client that reads slowly", () => {
  const thought = "x".repeat(16_384);

  /** Fills an unread stream until no further event is read from the run. */
  async function fill(http: TestHttp) {
    http.runs.onBegin = (run) => {
      for (let i = 0; i < 2000; i++) run.store({ type: "thought", content: thought });
    };
    const socket = await openSocket(http.port);
    socket.socket.pause();
    socket.write(requestText("POST", STREAM, { ...headers, Connection: "close" }, body));
    await expect.poll(() => http.runs.runs.size).toBe(1);
    const run = [...http.runs.runs.values()][0]!;
    let before = -1;
    await expect
      .poll(
        () => {
          const still = run.handedOut === before && before > 0;
          before = run.handedOut;
          return still;
        },
        { interval: 100 },
      )
      .toBe(true);
    return { socket, run };
  }

  test("receives every event although the run's events are read only as fast as it reads", async () => {
    await using http = await startHttp();
    const { socket, run } = await fill(http);
    expect(run.handedOut).toBeLessThan(1500);

    endNow(run);
    socket.socket.resume();

    const received = await socket.closed();
    const ids = [...received.matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]));
    expect(ids).toEqual(Array.from({ length: 2001 }, (_, i) => i + 1));
  });

  test("is disconnected when its stream reaches the maximum age", async () => {
    await using http = await startHttp({ maxStreamAgeMs: 1_000, keepaliveMs: 50 });
    const { socket, run } = await fill(http);
    await run.until(({ followers, readers }) => followers === 0 && readers.length === 0);
    socket.socket.resume();
    expect(await socket.closed()).not.toContain("finalResponse");
    expect(http.openStreams()).toBe(0);
  });
});

test("a stream at its maximum age ends with retry: 1000 while its run continues", async () => {
  await using http = await startHttp({ maxStreamAgeMs: 60, keepaliveMs: 10 });
  const { run, stream } = await openRun(http);
  expect(await stream.rest()).toMatch(/^(: keepalive\n\n)*retry: 1000\n\n$/);
  expect(run.status).toBe("running");
});

test("a stream and a query can share one connection", async () => {
  await using http = await startHttp();
  using socket = await openSocket(http.port);
  socket.write(requestText("POST", STREAM, headers, body));
  await socket.until((text) => text.endsWith("0\r\n\r\n"));
  socket.write(requestText("POST", QUERY, { ...headers, Connection: "close" }, body));
  expect((await socket.closed()).match(/^HTTP\/1\.1 200 OK/gm)).toHaveLength(2);
});
