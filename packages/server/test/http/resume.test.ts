import { describe, expect, test } from "vitest";
import { answerOf, type FakeRun } from "./support/fake-runs.ts";
import { startHttp, STREAM, type TestHttp } from "./support/start-http.ts";

const eventsOf = (run: FakeRun): string => `/agents/agent-1/runs/${run.handle.runId}/events`;

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
  test("cancels the run when its readers have gone only if its query asked for that", async () => {
    await using http = await startHttp();
    http.runs.onBegin = (run) => run.store({ type: "thought", content: "one" });
    await (await http.post(STREAM, { query: "hi" }, { "X-On-Disconnect": "cancel" })).body?.cancel();
    const run = [...http.runs.runs.values()].at(-1)!;
    await run.until(({ readers }) => readers.length === 0);

    const response = await http.get(eventsOf(run));

    await run.until(({ readers }) => readers.some((reader) => reader.cancelWhenGone));
    await response.body?.cancel();
  });

  test("has the headers of a stream and never cancels the run", async () => {
    await using http = await startHttp();
    const run = await openRun(http);
    const response = await http.get(eventsOf(run), { "X-On-Disconnect": "cancel" });
    expect(response.headers.get("X-Run-Id")).toBe(run.handle.runId);
    expect(response.headers.get("X-Thread-Id")).toBe(run.handle.threadId);
    expect(response.headers.get("Content-Type")).toBe("text/event-stream; charset=utf-8");
    expect(response.headers.get("Cache-Control")).toBe("no-cache, no-transform");
    expect(response.headers.get("X-Accel-Buffering")).toBe("no");
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

  test("keeps events 24 h", async () => {
    await using http = await startHttp();
    const run = await endedRun(http);
    run.finishedAgoMs = 24 * 3_600_000;
    expect((await http.get(eventsOf(run))).status).toBe(200);
    run.finishedAgoMs++;
    expect((await http.get(eventsOf(run))).status).toBe(404);
  });
});
