import { DEFAULT_LIMITS } from "@patchbay/protocol";
import { Hono } from "hono";
import { expect, test, vi } from "vitest";
import { readAlong } from "@patchbay/test-support/reader";
import type { SignedIn } from "../src/actors.ts";
import type { ConsoleDeps, ConsoleHandlers } from "../src/handler.ts";
import { createConsoleQueries } from "../src/queries.ts";
import { runRoutes } from "../src/runs/routes.ts";
import { threadRoutes } from "../src/threads/routes.ts";
import type { HttpEnv } from "@patchbay/server/kernel/exchange";
import { createOpenStreams } from "@patchbay/server/query/open-streams";
import { silentLog } from "@patchbay/kit";
import { silentMetrics } from "@patchbay/engine/ports/metrics";
import { systemClock } from "../../control-plane/src/start/clocks.ts";
import { startCore } from "../../engine/test/run/core.ts";
import { fakeGateway, manifestOf, ok } from "../../engine/test/run/fake-gateway.ts";
import { scriptedModel, type ScriptedTurn } from "../../engine/test/run/scripted-model.ts";

const OWN: SignedIn = {
  actorId: "mem_1",
  sessionId: "s",
  memberId: "mem_1",
  orgId: "org_1",
  tier: "sandbox",
  role: "developer",
  access: { kind: "session", id: "s" },
};
const AGENT = { orgId: "org_1", agentId: "agt_1" };

type Name = keyof ReturnType<typeof runRoutes> | keyof ReturnType<typeof threadRoutes>;

/** The handlers over a real core; `ask` sends what the app would have let in, and `stream` what it would have answered. */
async function startDesk(turns: ScriptedTurn[]) {
  const gateway = fakeGateway(manifestOf({ look_up: "everyone" }), () => ok("fine"));
  const core = await startCore({ models: scriptedModel(turns).catalog, gateway: gateway.gateway });
  const { store, runs } = core;
  const access = { hold: () => ({ [Symbol.dispose]() {} }) };
  const streams = createOpenStreams({ limits: DEFAULT_LIMITS, access, metrics: silentMetrics });
  const queries = createConsoleQueries(store.engine);
  const deps = { store, queries, runs, streams, log: silentLog, clock: systemClock } as unknown as ConsoleDeps;
  const handlers = { ...runRoutes(deps), ...threadRoutes(deps) };

  async function ask<N extends Name>(name: N, params: object, { query = {} }: { query?: object } = {}) {
    const handle = handlers[name] as unknown as (request: object) => ReturnType<ConsoleHandlers[N]>;
    return handle({ agent: AGENT, params, query, by: OWN });
  }

  async function stream(runId: string, headers: Record<string, string> = {}): Promise<Response> {
    const app = new Hono<HttpEnv>().get("/", (c) => {
      const exchange = { c, requestId: "req", headers: {}, cookies: [], facts: {} };
      const handle = handlers["GET /agents/:agent_id/runs/:run_id/events"] as (request: object) => Promise<Response>;
      return handle({ exchange, agent: AGENT, params: { run_id: runId }, by: OWN });
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

test("the source distinguishes test calls from queries in the playground", async () => {
  await using desk = await startDesk([{ text: "Played." }]);
  const testCall = { functionName: "look_up", arguments: {} };
  const tried = await desk.query("look_up", { testCall, as: { keyId: "mem_1" } });
  const played = await desk.query("Hi", { as: { keyId: "mem_1" } });
  const ids = async (source: string) => {
    const { items } = await desk.ask("GET /agents/:agent_id/runs", {}, { query: { source } });
    return items.map((run) => [run.runId, run.source]);
  };

  expect(await ids("test_call")).toEqual([[tried.runId, "test_call"]]);
  expect(await ids("playground")).toEqual([[played.runId, "playground"]]);
});

test("a log contains the events as they were sent, in either dialect", async () => {
  await using desk = await startDesk([{ calls: [["look_up", {}]] }, { text: "Done." }]);
  const { runId } = await desk.query("Hi");
  const log = async (query: object) => {
    const { items } = await desk.ask("GET /agents/:agent_id/runs/:run_id/log", { run_id: runId }, { query });
    return items.map(({ body }) => JSON.parse(body) as { type: string });
  };

  expect(await log({})).toEqual(await desk.events(runId));
  const { items } = await desk.ask("GET /agents/:agent_id/runs/:run_id/log", { run_id: runId }, { query: {} });
  const { createdAt } = await desk.ask("GET /agents/:agent_id/runs/:run_id", { run_id: runId });
  expect(items.map(({ afterMs }) => afterMs)).toEqual(items.map(({ at }) => Date.parse(at) - Date.parse(createdAt)));
  expect((await log({ dialect: "local" })).map(({ type }) => type)).toEqual([
    "function_call",
    "function_result",
    "final_response",
  ]);
});

test("a run is followed from any event with live tokens; after its last event the response is 204", async () => {
  const answer = Promise.withResolvers<void>();
  await using desk = await startDesk([{ calls: [["look_up", {}]] }, { text: "Two words", until: answer.promise }]);
  const { runId } = await desk.runs.start(desk.caller, { query: "Hi", analysisMode: false, maxTokens: 100 });
  await vi.waitFor(async () => expect(await desk.events(runId)).toHaveLength(2));

  const response = await desk.stream(runId, { "Last-Event-ID": "1" });
  expect(response.headers.get("Content-Type")).toContain("text/event-stream");
  const reader = readAlong(response);
  // The stored event shows that the reader follows the run: live tokens from before are not repeated.
  await reader.seen(/"type":"toolResult"/);
  answer.resolve();

  await reader.over;
  const followed = reader.text;
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

test("a thread shows its messages and runs, and the audit log names the member who erases it", async () => {
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

test("the default range of sessions is the last 24 hours", async () => {
  await using desk = await startDesk([{ text: "One." }]);
  await desk.query("Hello", { sessionId: "s1" });
  const list = async (query: object) => (await desk.ask("GET /agents/:agent_id/sessions", {}, { query })).items;

  expect(await list({})).toMatchObject([{ sessionId: "s1", firstQuery: "Hello" }]);
  expect(await list({ from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00Z" })).toEqual([]);
});
