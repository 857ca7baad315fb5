import { DEFAULT_LIMITS } from "@patchbay/protocol";
import { Hono } from "hono";
import { expect, test, vi } from "vitest";
import type { ConsoleDeps } from "../../src/console/deps.ts";
import type { ConsoleHandlers, SignedIn } from "../../src/console/handler.ts";
import { runHandlers } from "../../src/console/handlers/runs.ts";
import { sessionListHandlers } from "../../src/console/handlers/sessions.ts";
import { threadHandlers } from "../../src/console/handlers/threads.ts";
import type { HttpEnv } from "../../src/http/deps.ts";
import { createOpenStreams } from "../../src/http/open-streams.ts";
import { silentLog } from "../../src/ports/log.ts";
import { silentMetrics } from "../../src/ports/metrics.ts";
import { systemClock } from "../../src/system-clock.ts";
import { startCore } from "../run/core.ts";
import { fakeGateway, manifestOf, ok } from "../run/fake-gateway.ts";
import { scriptedModel, type ScriptedTurn } from "../run/scripted-model.ts";

const OWN: SignedIn = { sessionId: "s", memberId: "mem_1", orgId: "org_1", tier: "sandbox", role: "developer" };
const OTHER: SignedIn = { ...OWN, orgId: "org_2" };

type Name =
  | keyof ReturnType<typeof runHandlers>
  | keyof ReturnType<typeof threadHandlers>
  | "GET /agents/:agent_id/sessions";

/** The handlers over a real core; `ask` sends what the app would have let in, and `stream` what it would have answered. */
async function startDesk(turns: ScriptedTurn[]) {
  const gateway = fakeGateway(manifestOf({ look_up: "everyone" }), () => ok("fine"));
  const core = await startCore({ models: scriptedModel(turns).catalog, gateway: gateway.gateway });
  const { store, runs } = core;
  const access = { hold: () => ({ [Symbol.dispose]() {} }) };
  const streams = createOpenStreams({ limits: DEFAULT_LIMITS, access, metrics: silentMetrics });
  const deps = { store, runs, streams, log: silentLog, clock: systemClock } as unknown as ConsoleDeps;
  const handlers = { ...runHandlers(deps), ...threadHandlers(deps), ...sessionListHandlers(deps) };

  function ask<N extends Name>(name: N, params: object, asked: { query?: object; by?: SignedIn } = {}) {
    const handle = handlers[name] as unknown as (request: object) => ReturnType<ConsoleHandlers[N]>;
    const { query = {}, by = OWN } = asked;
    return handle({ params: { agent_id: "agt_1", ...params }, query, by, body: undefined });
  }

  async function stream(runId: string, headers: Record<string, string> = {}): Promise<Response> {
    const app = new Hono<HttpEnv>().get("/", (c) => {
      const exchange = { c, requestId: "req", headers: {}, cookies: [] };
      const params = { agent_id: "agt_1", run_id: runId };
      const { signal } = c.req.raw;
      const rest = { params, by: OWN, query: undefined, body: undefined, signal };
      return handlers["GET /agents/:agent_id/runs/:run_id/events"]({ exchange, ...rest });
    });
    return app.request("/", { headers }, {});
  }
  return { ...core, ask, stream, [Symbol.asyncDispose]: () => core[Symbol.asyncDispose]() };
}

test("runs are listed with the filters of their query, times included", async () => {
  await using desk = await startDesk([{ text: "One." }, { text: "Two." }]);
  const { runId } = await desk.query("Where is it?", { role: "clerk" });
  await desk.query("Who?");
  const list = (query: object) => desk.ask("GET /agents/:agent_id/runs", {}, { query });

  expect((await list({ q: "where" })).items).toMatchObject([{ runId, role: "clerk", status: "succeeded" }]);
  expect((await list({ q: "clerk" })).items).toEqual([]);
  expect((await list({ from: "2999-01-01T00:00:00Z" })).items).toEqual([]);
  expect((await list({ to: "2999-01-01T00:00:00Z" })).items).toHaveLength(2);
});

test("a function that was tried is told from a query in the playground", async () => {
  await using desk = await startDesk([{ text: "Played." }]);
  const trial = { functionName: "look_up", arguments: {} };
  const tried = await desk.query("look_up", { trial, as: { keyId: "mem_1" } });
  const played = await desk.query("Hi", { as: { keyId: "mem_1" } });
  const ids = async (source: string) => {
    const { items } = await desk.ask("GET /agents/:agent_id/runs", {}, { query: { source } });
    return items.map((run) => [run.runId, run.source]);
  };

  expect(await ids("trial")).toEqual([[tried.runId, "trial"]]);
  expect(await ids("playground")).toEqual([[played.runId, "playground"]]);
});

test("a log comes as it was sent, in either dialect", async () => {
  await using desk = await startDesk([{ calls: [["look_up", {}]] }, { text: "Done." }]);
  const { runId } = await desk.query("Hi");
  const log = async (query: object) => {
    const { items } = await desk.ask("GET /agents/:agent_id/runs/:run_id/log", { run_id: runId }, { query });
    return items.map(({ body }) => JSON.parse(body) as { type: string });
  };

  expect(await log({})).toEqual(await desk.events(runId));
  expect((await log({ dialect: "local" })).map(({ type }) => type)).toEqual([
    "function_call",
    "function_result",
    "final_response",
  ]);
});

test("a run is followed from any event, live tokens included, and after its end there is nothing more to say", async () => {
  const answer = Promise.withResolvers<void>();
  await using desk = await startDesk([{ calls: [["look_up", {}]] }, { text: "Two words", until: answer.promise }]);
  const { runId } = await desk.runs.start(desk.caller, { query: "Hi", analysisMode: false, maxTokens: 100 });
  await vi.waitFor(async () => expect(await desk.events(runId)).toHaveLength(2));

  const response = await desk.stream(runId, { "Last-Event-ID": "1" });
  const text = response.text();
  answer.resolve();

  expect(response.headers.get("Content-Type")).toContain("text/event-stream");
  const followed = await text;
  expect(followed).toMatch(/^id: 2\ndata: \{"type":"toolResult"/);
  expect(followed).toContain('data: {"type":"responseDelta","content":"Two "}');
  expect(followed).toMatch(/id: 3\ndata: \{"type":"finalResponse".*\n\n$/);
  expect((await desk.stream(runId, { "Last-Event-ID": "3" })).status).toBe(204);
  await expect(desk.ask("GET /agents/:agent_id/runs/:run_id", { run_id: "run_x" })).rejects.toMatchObject({
    code: "not_found",
  });
});

test("a run is cancelled for a member", async () => {
  await using desk = await startDesk([{ until: new Promise(() => {}) }]);
  const { runId } = await desk.runs.start(desk.caller, { query: "Hi", analysisMode: false, maxTokens: 100 });

  const cancelled = await desk.ask("POST /agents/:agent_id/runs/:run_id/cancel", { run_id: runId });

  expect(cancelled).toMatchObject({ success: true, runId });
  await vi.waitFor(async () =>
    expect(await desk.ask("GET /agents/:agent_id/runs/:run_id", { run_id: runId })).toMatchObject({
      status: "cancelled",
      code: "cancelled",
    }),
  );
  await desk.ask("POST /agents/:agent_id/runs/:run_id/cancel", { run_id: runId });
  const { items } = await desk.store.audit.list({ agentId: "agt_1", action: "run.cancel_requested", limit: 9 });
  expect(items).toMatchObject([{ runId, keyId: "mem_1" }]);
});

test("a thread shows its messages and runs, and is erased in the name of the member who asks", async () => {
  await using desk = await startDesk([{ text: "One." }, { text: "Two." }]);
  const { threadId } = await desk.query("First?", { role: "clerk", sessionId: "s1" });
  await desk.query("Second?", { threadId });
  const thread = { thread_id: threadId };

  const shown = await desk.ask("GET /agents/:agent_id/threads/:thread_id", thread);
  await desk.ask("DELETE /agents/:agent_id/threads/:thread_id", thread);

  expect(shown.messages.map(({ content }) => content)).toEqual(["First?", "One.", "Second?", "Two."]);
  expect(shown.runs).toMatchObject([
    { query: "First?", role: "clerk" },
    { query: "Second?", role: null },
  ]);
  expect((await desk.ask("GET /agents/:agent_id/threads", {})).items).toEqual([]);
  const { items } = await desk.store.audit.list({ agentId: "agt_1", limit: 1 });
  expect(items).toMatchObject([{ action: "thread.erased", keyId: "mem_1", detail: { threadId } }]);
  await expect(desk.ask("DELETE /agents/:agent_id/threads/:thread_id", thread)).rejects.toMatchObject({
    code: "not_found",
  });
});

test("sessions are those of the last 24 hours unless a range is asked for", async () => {
  await using desk = await startDesk([{ text: "One." }]);
  await desk.query("Hello", { sessionId: "s1" });
  const list = async (query: object) => (await desk.ask("GET /agents/:agent_id/sessions", {}, { query })).items;

  expect(await list({})).toMatchObject([{ sessionId: "s1", firstQuery: "Hello" }]);
  expect(await list({ from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00Z" })).toEqual([]);
});

test("another organisation's member finds nothing of it", async () => {
  await using desk = await startDesk([{ text: "One." }]);
  const { runId, threadId } = await desk.query("Hello");
  const names = [
    "GET /agents/:agent_id/runs",
    "GET /agents/:agent_id/runs/:run_id",
    "GET /agents/:agent_id/runs/:run_id/log",
    "POST /agents/:agent_id/runs/:run_id/cancel",
    "GET /agents/:agent_id/threads",
    "GET /agents/:agent_id/threads/:thread_id",
    "DELETE /agents/:agent_id/threads/:thread_id",
    "GET /agents/:agent_id/sessions",
  ] as const;

  for (const name of names) {
    const asked = desk.ask(name, { run_id: runId, thread_id: threadId }, { by: OTHER });
    await expect(asked, name).rejects.toMatchObject({ code: "not_found" });
  }
  expect(await desk.store.threads.exists("agt_1", threadId)).toBe(true);
});
