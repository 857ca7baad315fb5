import type { RunDetail } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import { callThenAnswer, scriptFor, type Script } from "@patchbay/test-support/providers";
import { openStream, typed } from "./open-stream.ts";
import { startContractSystem, type ContractSystem } from "./contract-system.ts";

/** Each query calls `wait` with its own text as the id. */
const waiting: Script = ({ step, query, results }) =>
  step === 0
    ? { calls: [{ name: "wait", arguments: { id: query } }] }
    : { text: results.map(({ content }) => content).join() };

async function begin(system: ContractSystem, query: string, body: object = {}) {
  return openStream(await system.post(system.path("query-stream"), { query, ...body }));
}

async function runOf(system: ContractSystem, runId: string): Promise<RunDetail> {
  return (await system.get(`/agents/${system.agentId}/runs/${runId}`)).json() as Promise<RunDetail>;
}

describe("POST /agents/{agent_id}/runs/{run_id}/cancel", () => {
  const cancel = (system: ContractSystem, runId: string) =>
    system.post(`/agents/${system.agentId}/runs/${runId}/cancel`, "");

  test("-> 202 { success, runId, status }; the run ends with code cancelled and its calls are aborted", async () => {
    await using system = await startContractSystem(waiting);
    const stream = await begin(system, "a");
    await system.desk.begun("a");

    const response = await cancel(system, stream.runId);

    expect(response.status).toBe(202);
    expect(await response.json()).toEqual({ success: true, runId: stream.runId, status: "running" });
    const error = await stream.until(typed("error"));
    expect(error.data).toMatchObject({ errorMessage: "Run cancelled", code: "cancelled", runId: stream.runId });
    await system.desk.stopped("a");
    expect(await runOf(system, stream.runId)).toMatchObject({
      status: "cancelled",
      result: {
        success: false,
        code: "cancelled",
        toolInteractions: [{ toolName: "wait", success: false, code: "cancelled" }],
      },
    });
  });

  test("200 with its status when it has ended, 404 for an unknown run", async () => {
    await using system = await startContractSystem(scriptFor({ text: "Hello." }, { error: { status: 401 } }));
    const succeeded = await system.query("hi");
    const failed = await system.query("hi");

    for (const [{ runId }, status] of [
      [succeeded, "succeeded"],
      [failed, "failed"],
    ] as const) {
      const response = await cancel(system, runId);
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ success: true, runId, status });
    }
    expect((await cancel(system, "run_nobody")).status).toBe(404);
  });

  test("ends a waiting run without affecting the active one", async () => {
    await using system = await startContractSystem(waiting);
    const first = await begin(system, "a");
    await system.desk.begun("a");
    const second = await begin(system, "b", { threadId: first.headers.get("X-Thread-Id") });

    const response = await cancel(system, second.runId);

    expect(await response.json()).toMatchObject({ status: "queued" });
    expect((await second.until(typed("error"))).data).toMatchObject({ code: "cancelled" });
    system.desk.release("a");
    expect((await first.until(typed("finalResponse"))).data).toMatchObject({ response: "waited for a" });
  });

  test("endpoint 1 answers a cancelled run with success: false and code cancelled", async () => {
    await using system = await startContractSystem(waiting);
    const asked = system.query("a");
    await system.desk.begun("a");
    const [run] = await system.plane.store.runs.list(system.agentId, { limit: 1 });
    await cancel(system, run?.runId ?? "");
    expect(await asked).toMatchObject({ success: false, errorMessage: "Run cancelled", code: "cancelled" });
  });
});

describe("a second query on a busy thread", () => {
  test("waits, and then receives the first one's answer as history", async () => {
    await using system = await startContractSystem(waiting);
    const first = await begin(system, "a");
    await system.desk.begun("a");
    const threadId = first.headers.get("X-Thread-Id");
    const second = system.query("b", { threadId });
    system.desk.release("b");
    expect(system.standIn.requests).toHaveLength(1);

    system.desk.release("a");

    expect(await second).toMatchObject({ success: true, threadId, response: "waited for b" });
    const texts = system.sent()[2]?.messages.map(({ text }) => text);
    expect(texts).toEqual(expect.arrayContaining(["a", "waited for a", "b"]));
  });

  test("waits if at most three others wait; otherwise its code is thread_busy", async () => {
    await using system = await startContractSystem(waiting);
    const first = await begin(system, "0");
    const threadId = first.headers.get("X-Thread-Id");
    const queued = [];
    for (const id of ["1", "2", "3", "4"]) queued.push(await begin(system, id, { threadId }));

    const refused = await system.query("5", { threadId });
    const stream = await system.stream("5", { threadId });
    const elsewhere = begin(system, "other");

    expect(refused).toMatchObject({ success: false, code: "thread_busy", threadId, toolInteractions: [] });
    expect(stream.events.map(({ data }) => [data.type, data["code"]])).toEqual([["error", "thread_busy"]]);
    await system.desk.begun("other"); // other threads do not wait
    for (const id of ["0", "1", "2", "3", "4", "other"]) system.desk.release(id);
    for (const run of [first, ...queued, await elsewhere]) await run.until(typed("finalResponse"));
    expect(system.desk.handled.map(({ input }) => input["id"]).filter((id) => id !== "other")).toEqual(
      ["0", "1", "2", "3", "4"], // in the order of arrival
    );
  });
});

describe.concurrent("every run ends by its deadline", () => {
  test("with code deadline_exceeded (Run timed out), and its calls are aborted", async () => {
    await using system = await startContractSystem(waiting, { runTimeoutMs: 5_000 });
    const [answer, local] = await Promise.all([system.query("a"), system.local("b")]);
    expect(answer).toMatchObject({ success: false, errorMessage: "Run timed out", code: "deadline_exceeded" });
    await system.desk.stopped("a");
    expect(local.events.at(-1)?.data).toMatchObject({ type: "error", data: { message: "Run timed out" } });
  });

  test("also if its model does not answer", async () => {
    await using system = await startContractSystem(scriptFor({ text: "never", stallAfterBytes: 10 }), {
      runTimeoutMs: 300,
    });
    expect(await system.query("a")).toMatchObject({ code: "deadline_exceeded" });
    await system.standIn.requests[0]?.closed;
  });

  test("waiting included", async () => {
    await using system = await startContractSystem(waiting, { runTimeoutMs: 5_000 });
    const first = await begin(system, "a");
    await system.desk.begun("a");

    const second = await system.query("b", { threadId: first.headers.get("X-Thread-Id") });

    expect(second).toMatchObject({ success: false, code: "deadline_exceeded" });
    const run = await system.plane.store.runs.get(system.agentId, second.runId);
    // Not 5 s of waiting and 5 s of its own. The time between the request and its start belongs to it.
    expect(run!.deadlineAt - run!.createdAt).toBeLessThanOrEqual(5_000);
    await first.until(typed("error"));
  });
});

test("GET /agents/{agent_id}/runs/{run_id} -> { runId, threadId, status, startedAt, finishedAt, requestId, usage, result? }", async () => {
  await using system = await startContractSystem(callThenAnswer([{ name: "wait", arguments: { id: "a" } }]));
  const stream = await begin(system, "a");
  await system.desk.begun("a");
  const threadId = stream.headers.get("X-Thread-Id");
  const queued = await begin(system, "b", { threadId });

  expect(await runOf(system, queued.runId)).toEqual({
    runId: queued.runId,
    threadId,
    status: "queued",
    startedAt: null,
    finishedAt: null,
    requestId: queued.headers.get("X-Request-Id"),
    usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteInputTokens: 0, costUsd: 0 },
  });
  const running = await runOf(system, stream.runId);
  expect(running).toMatchObject({ status: "running", finishedAt: null });
  // The turn that made the call is already charged.
  expect(running.usage.inputTokens).toBeGreaterThan(0);
  system.desk.release("a");
  const final = (await stream.until(typed("finalResponse"))).data as { type: string };
  const { type: _, ...rest } = final;

  const done = await runOf(system, stream.runId);
  expect(done).toEqual({
    runId: stream.runId,
    threadId,
    status: "succeeded",
    startedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    finishedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    requestId: stream.headers.get("X-Request-Id"),
    usage: (final as { usage?: unknown }).usage,
    result: { ...rest, success: true, errorMessage: "" },
  });
  await queued.until(typed("finalResponse"));
});
