import { describe, expect, test } from "vitest";
import { StoreUnavailable } from "../../src/ports/run-store.ts";
import { answerOf, USAGE } from "./support/fake-runs.ts";
import {
  API_KEY,
  OTHER_AGENTS_KEY,
  QUERY,
  RUNTIME_KEY,
  startHttp,
  STREAM,
  THREAD,
  type TestHttp,
} from "./support/start-http.ts";

const THREADS = "/agents/agent-1/threads";

async function openRun(http: TestHttp) {
  http.runs.onBegin = () => undefined;
  await (await http.post(STREAM, { query: "hi" })).body?.cancel();
  return [...http.runs.runs.values()].at(-1)!;
}

describe("POST /agents/{agent_id}/runs/{run_id}/cancel", () => {
  test.each(["queued", "running"] as const)("answers 202 while the run is %s, without a body", async (status) => {
    await using http = await startHttp();
    const run = await openRun(http);
    run.status = status;
    const { runId } = run.handle;
    const response = await fetch(`${http.url}/agents/agent-1/runs/${runId}/cancel`, {
      method: "POST",
      headers: { "X-API-Key": API_KEY },
    });
    expect(response.status).toBe(202);
    expect(await response.json()).toEqual({ success: true, runId, status });
  });

  test.each(["succeeded", "failed", "cancelled"] as const)(
    "answers 200 with its status when the run has ended as %s",
    async (status) => {
      await using http = await startHttp();
      const run = await openRun(http);
      run.status = status;
      const response = await http.post(`/agents/agent-1/runs/${run.handle.runId}/cancel`, "");
      expect([response.status, ((await response.json()) as { status: string }).status]).toEqual([200, status]);
    },
  );

  test("answers 404 for an unknown run", async () => {
    await using http = await startHttp();
    expect((await http.post("/agents/agent-1/runs/run_x/cancel", "")).status).toBe(404);
  });
});

describe("GET /agents/{agent_id}/runs/{run_id}", () => {
  test("returns the run and its result once it has ended", async () => {
    await using http = await startHttp();
    const run = await openRun(http);
    const { runId, threadId } = run.handle;
    const path = `/agents/agent-1/runs/${runId}`;
    const before = (await (await http.get(path)).json()) as object;
    const { result, event } = answerOf(run);
    run.end(result, event);
    const after: unknown = await (await http.get(path)).json();
    expect(before).toEqual({ runId, threadId, status: "running", startedAt: null, finishedAt: null, usage: USAGE });
    expect(after).toMatchObject({ status: "succeeded", result });
  });

  test("answers 404 for an unknown run", async () => {
    await using http = await startHttp();
    expect((await http.get("/agents/agent-1/runs/run_x")).status).toBe(404);
  });
});

describe("threads", () => {
  test("are listed with items and nextCursor", async () => {
    await using http = await startHttp();
    const { messages: _messages, nextCursor: _nextCursor, ...summary } = THREAD;
    expect(await (await http.get(THREADS)).json()).toEqual({ items: [summary], nextCursor: null });
  });

  test.each([
    ["", { agentId: "agent-1", limit: 50 }],
    ["?limit=1", { agentId: "agent-1", limit: 1 }],
    ["?limit=100&cursor=abc", { agentId: "agent-1", limit: 100, cursor: "abc" }],
  ])("are requested with %s", async (query, asked) => {
    await using http = await startHttp();
    await http.get(THREADS + query);
    expect(http.listed).toEqual([asked]);
  });

  test("are filtered by the roles of a pinned key", async () => {
    await using http = await startHttp();
    await http.get(THREADS, { "X-API-Key": "service_live_pinned" });
    expect(http.listed).toEqual([{ agentId: "agent-1", limit: 50, roles: ["support"] }]);
  });

  test.each(["0", "101", "-1", "1.5", "many"])("cannot be listed with the limit %s", async (limit) => {
    await using http = await startHttp();
    const response = await http.get(`${THREADS}?limit=${limit}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ details: [{ path: "limit" }] });
  });

  test("are returned by id, and are 404 when unknown or of another agent", async () => {
    await using http = await startHttp();
    expect(await (await http.get(`${THREADS}/thr_known`)).json()).toEqual(THREAD);
    expect((await http.get(`${THREADS}/thr_other`)).status).toBe(404);
    const foreign = await http.get("/agents/agent-2/threads/thr_known", { "X-API-Key": OTHER_AGENTS_KEY });
    expect(foreign.status).toBe(404);
  });

  test("are erased with 204, and are 404 afterwards", async () => {
    await using http = await startHttp();
    const erase = async (id: string) =>
      fetch(`${http.url}${THREADS}/${id}`, { method: "DELETE", headers: { "X-API-Key": API_KEY } });
    const gone = await erase("thr_known");
    expect([gone.status, await gone.text()]).toEqual([204, ""]);
    expect((await erase("thr_other")).status).toBe(404);
    expect(http.runs.erased).toEqual(["thr_known"]);
  });
});

describe("the service's own routes", () => {
  test("healthz reports that the process is alive", async () => {
    await using http = await startHttp({ ready: async () => false });
    expect((await fetch(`${http.url}/healthz`)).status).toBe(200);
  });

  test("readyz is 200 when ready, else 503 with Retry-After", async () => {
    let ready = true;
    await using http = await startHttp({ ready: async () => ready });
    expect((await fetch(`${http.url}/readyz`)).status).toBe(200);
    ready = false;
    const response = await fetch(`${http.url}/readyz`);
    expect(response.status).toBe(503);
    expect(response.headers.has("Retry-After")).toBe(true);
  });

  test("readyz is 503 when the check fails", async () => {
    await using http = await startHttp({ ready: async () => Promise.reject(new StoreUnavailable("gone")) });
    expect((await fetch(`${http.url}/readyz`)).status).toBe(503);
  });

  test("readyz is 503 when the check does not end", async () => {
    await using http = await startHttp({ ready: () => new Promise<boolean>(() => {}) });
    expect((await fetch(`${http.url}/readyz`)).status).toBe(503);
  });

  test("metrics are text in the Prometheus format", async () => {
    await using http = await startHttp();
    const response = await fetch(`${http.url}/metrics`);
    expect(response.headers.get("Content-Type")).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await response.text()).toBe("patchbay_up 1\n");
  });

  test("a plain GET of /functions/connect is 401 without a runtime key and 400 with one", async () => {
    await using http = await startHttp();
    const path = `${http.url}/functions/connect`;
    expect((await fetch(path)).status).toBe(401);
    expect((await fetch(path, { headers: { Authorization: `Bearer ${API_KEY}` } })).status).toBe(401);
    const response = await fetch(path, { headers: { Authorization: `Bearer ${RUNTIME_KEY}` } });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("WebSocket");
  });

  test("queries are counted by endpoint and outcome", async () => {
    await using http = await startHttp();
    await http.post(QUERY, { query: "hi" });
    await http.post(QUERY, { query: "" });
    await (await http.post(STREAM, { query: "hi" })).text();
    await http.post("/agent/query-stream", { query: "hi" });
    expect(http.counts).toEqual([
      "query accepted",
      "query invalid_request",
      "query-stream accepted",
      "local authentication_failed",
    ]);
  });
});
