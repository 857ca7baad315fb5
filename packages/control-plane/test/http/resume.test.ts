import { describe, expect, test } from "vitest";
import { answerOf, type FakeRun } from "./support/fake-runs.ts";
import { openSocket, requestText } from "./support/raw-socket.ts";
import { ACCESS_TOKEN, API_KEY, OTHER_AGENTS_KEY, startHttp, STREAM, type TestHttp } from "./support/start-http.ts";

const eventsOf = (run: FakeRun): string => `/agents/agent-1/runs/${run.handle.runId}/events`;
const wire = (run: FakeRun, after = 0): string =>
  run.log
    .slice(after)
    .map(({ id, body }) => `id: ${id}\ndata: ${body}\n\n`)
    .join("");

async function endedRun(http: TestHttp): Promise<FakeRun> {
  http.runs.onBegin = (run) => {
    run.store({ type: "thought", content: "größe" });
    run.store({ type: "toolCall", toolName: "f", toolCallId: "c", parameters: {} });
    run.store({ type: "toolResult", toolName: "f", toolCallId: "c", success: true, result: 1 });
    const { result, event } = answerOf(run);
    run.end(result, event);
  };
  await (await http.post(STREAM, { query: "hi" })).text();
  return [...http.runs.runs.values()].at(-1)!;
}

async function openRun(http: TestHttp): Promise<FakeRun> {
  http.runs.onBegin = (run) => run.store({ type: "thought", content: "one" });
  await (await http.post(STREAM, { query: "hi" })).body?.cancel();
  return [...http.runs.runs.values()].at(-1)!;
}

describe("GET /agents/{agent_id}/runs/{run_id}/events", () => {
  test("continues an interrupted stream exactly after a cut at any byte", async () => {
    await using http = await startHttp();
    const run = await endedRun(http);
    const whole = Buffer.from(wire(run));
    for (let cut = 0; cut <= whole.length; cut++) {
      // A client keeps only complete events and drops the text after the last blank line.
      const text = whole.subarray(0, cut).toString("latin1");
      const end = text.lastIndexOf("\n\n");
      const kept = end < 0 ? "" : text.slice(0, end + 2);
      const lastId = [...kept.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1];
      const response = await http.get(eventsOf(run), lastId === undefined ? {} : { "Last-Event-ID": lastId });
      const rest = response.status === 204 ? "" : await response.text();
      expect(Buffer.from(kept, "latin1").toString() + rest).toBe(whole.toString());
    }
  });

  test("has the headers of a stream and never cancels the run", async () => {
    await using http = await startHttp();
    const run = await openRun(http);
    const response = await http.get(eventsOf(run), { "X-On-Disconnect": "cancel" });
    expect(response.headers.get("X-Run-Id")).toBe(run.handle.runId);
    expect(response.headers.get("X-Thread-Id")).toBe(run.handle.threadId);
    expect(response.headers.get("Content-Type")).toBe("text/event-stream; charset=utf-8");
    await run.until(({ readers }) => readers.some((reader) => !reader.cancelWhenGone));
    await response.body?.cancel();
  });

  test("sends live events only with includeDeltas", async () => {
    await using http = await startHttp();
    const run = await openRun(http);
    run.show({ type: "responseDelta", content: "d" });
    const { result, event } = answerOf(run);
    run.end(result, event);
    expect(await (await http.get(eventsOf(run))).text()).not.toContain("responseDelta");
    expect(await (await http.get(`${eventsOf(run)}?includeDeltas=true`)).text()).toContain("responseDelta");
  });

  test.each(["4", "5", "999"])("is 204 when no event is left (%s)", async (id) => {
    await using http = await startHttp();
    const run = await endedRun(http);
    const response = await http.get(eventsOf(run), { "Last-Event-ID": id });
    expect([response.status, await response.text()]).toEqual([204, ""]);
  });

  test.each(["", "x", "-1", "1.5", "1e3", "0x1", "1 2", "9".repeat(30)])(
    "is 400 for a Last-Event-ID that is not a number (%s)",
    async (id) => {
      await using http = await startHttp();
      const run = await endedRun(http);
      const response = await http.get(eventsOf(run), { "Last-Event-ID": id });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: "invalid_request", details: [{ path: "Last-Event-ID" }] });
    },
  );

  test("keeps events 24 h", async () => {
    await using http = await startHttp();
    const run = await endedRun(http);
    run.finishedAgoMs = 24 * 3_600_000;
    expect((await http.get(eventsOf(run))).status).toBe(200);
    run.finishedAgoMs++;
    expect((await http.get(eventsOf(run))).status).toBe(404);
  });

  test("checks the key before the agent", async () => {
    await using http = await startHttp();
    const run = await endedRun(http);
    expect((await http.get(eventsOf(run), { "X-API-Key": "" })).status).toBe(401);
    expect((await http.get(eventsOf(run), { "X-API-Key": OTHER_AGENTS_KEY })).status).toBe(403);
    expect((await http.get(eventsOf(run), { "X-API-Key": "", Authorization: `Bearer ${ACCESS_TOKEN}` })).status).toBe(
      401,
    );
  });

  test("lets a client follow while another reads the same run", async () => {
    await using http = await startHttp();
    const run = await openRun(http);
    using socket = await openSocket(http.port);
    socket.write(requestText("GET", eventsOf(run), { "X-API-Key": API_KEY, Connection: "close" }));
    await socket.until((text) => text.includes("one"));
    const { result, event } = answerOf(run);
    const other = await http.get(eventsOf(run));
    run.end(result, event);
    expect(await other.text()).toBe(wire(run));
    expect(await socket.closed()).toContain("finalResponse");
  });
});
