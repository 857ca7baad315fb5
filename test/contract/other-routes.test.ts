import type { ThreadDetail, ThreadPage } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import { callThenAnswer, scriptFor } from "@patchbay/test-support/providers";
import { openStream, typed } from "./open-stream.ts";
import { startContractSystem, type ContractSystem } from "./contract-system.ts";

const answering = scriptFor({ text: "Hello." });
const threadsOf = ({ agentId }: ContractSystem) => `/agents/${agentId}/threads`;
const read = async <T>(response: Promise<Response>): Promise<T> => (await (await response).json()) as T;

describe("GET /agents/{agent_id}/threads", () => {
  test("-> { items: [{ threadId, sessionId, title, createdAt, updatedAt }], nextCursor }, newest first", async () => {
    await using system = await startContractSystem(answering);
    const first = await system.query("What is late?", { sessionId: "s-1" });
    const second = await system.query("And now?");

    const page = await read<ThreadPage>(system.get(threadsOf(system)));

    expect(page).toEqual({
      items: [
        { threadId: second.threadId, sessionId: null, title: "And now?", createdAt: ISO, updatedAt: ISO },
        { threadId: first.threadId, sessionId: "s-1", title: "What is late?", createdAt: ISO, updatedAt: ISO },
      ],
      nextCursor: null,
    });
    await system.query("more", { threadId: first.threadId });
    const again = await read<ThreadPage>(system.get(threadsOf(system)));
    expect(again.items[0]?.threadId).toBe(first.threadId);
  });

  test("?limit= 1..100 and ?cursor= page through all of them, once each", async () => {
    await using system = await startContractSystem(answering);
    const asked = [];
    for (let i = 0; i < 5; i++) asked.push((await system.query(`q${i}`)).threadId);

    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: ThreadPage = await read(system.get(`${threadsOf(system)}?limit=2&cursor=${cursor}`));
      seen.push(...page.items.map(({ threadId }) => threadId));
      cursor = page.nextCursor;
    }

    expect(seen).toEqual(asked.toReversed());
    for (const query of ["limit=0", "limit=101", "limit=x", "limit=0x10", "limit=1e1", "limit=1.0", "cursor=nonsense"])
      expect((await system.get(`${threadsOf(system)}?${query}`)).status).toBe(400);
  });

  test("default 50", async () => {
    await using system = await startContractSystem(answering, { providers: { offline: true }, connected: false });
    await Promise.all(Array.from({ length: 51 }, (_, i) => system.query(`q${i}`)));
    const page = await read<ThreadPage>(system.get(threadsOf(system)));
    expect(page.items).toHaveLength(50);
    expect(page.nextCursor).toEqual(expect.any(String));
  });

  test("?sessionId= shows only threads of that session", async () => {
    await using system = await startContractSystem(answering);
    const mine = await system.query("hi", { sessionId: "s 1" });
    await system.query("hi", { sessionId: "s-2" });
    await system.query("hi");
    const list = async (query: string) =>
      (await read<ThreadPage>(system.get(`${threadsOf(system)}?${query}`))).items.map(({ threadId }) => threadId);

    expect(await list("sessionId=s%201")).toEqual([mine.threadId]);
    expect(await list("sessionId=s-3")).toEqual([]);
    expect(await list("sessionId=")).toHaveLength(3);
  });

  test("shows only threads of the agent in the path", async () => {
    await using system = await startContractSystem(answering);
    const other = await system.plane.admin.createAgent("Other", { orgId: system.orgId });
    await system.query("hi");
    const key = { "x-api-key": other.apiKey };
    expect(await read(system.get(`/agents/${other.agentId}/threads`, key))).toEqual({ items: [], nextCursor: null });
    expect((await system.get(threadsOf(system), key)).status).toBe(403);
  });
});

describe("GET /agents/{agent_id}/threads/{thread_id}", () => {
  test("-> the same fields and messages: [{ role, content, runId, createdAt }]", async () => {
    await using system = await startContractSystem(answering);
    const { threadId, runId } = await system.query("hi");
    const next = await system.query("and then?", { threadId });

    const thread = await read<ThreadDetail>(system.get(`${threadsOf(system)}/${threadId}`));

    expect(thread).toEqual({
      threadId,
      sessionId: null,
      title: "hi",
      createdAt: ISO,
      updatedAt: ISO,
      messages: [
        { role: "user", content: "hi", runId, createdAt: ISO },
        { role: "assistant", content: "Hello.", runId, createdAt: ISO },
        { role: "user", content: "and then?", runId: next.runId, createdAt: ISO },
        { role: "assistant", content: "Hello.", runId: next.runId, createdAt: ISO },
      ],
      nextCursor: null,
    });
  });

  test("messages: ?limit= 1..100, default 100, and ?cursor=, oldest first, with nextCursor", async () => {
    await using system = await startContractSystem(answering);
    const { threadId } = await system.query("q0");
    for (let i = 1; i < 3; i++) await system.query(`q${i}`, { threadId });
    const path = `${threadsOf(system)}/${threadId}`;

    const pages: string[][] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: ThreadDetail = await read(system.get(`${path}?limit=4&cursor=${cursor}`));
      expect(page).toMatchObject({ threadId, title: "q0" });
      pages.push(page.messages.map(({ content }) => content));
      cursor = page.nextCursor;
    }

    expect(pages).toEqual([
      ["q0", "Hello.", "q1", "Hello."],
      ["q2", "Hello."],
    ]);
    for (const query of ["limit=0", "limit=101", "limit=1e1", "cursor=nonsense"])
      expect((await system.get(`${path}?${query}`)).status).toBe(400);
  });

  test("404 for a thread of another agent; a pinned key receives only messages of its roles", async () => {
    await using system = await startContractSystem(answering);
    const other = await system.plane.admin.createAgent("Other", { orgId: system.orgId });
    const pinned = await system.plane.admin.createKey({ agentId: system.agentId, roles: ["support"] });
    const key = { "x-api-key": pinned.apiKey };
    const mixed = await system.query("without a role");
    await system.query("as admin", { role: "admin", threadId: mixed.threadId });
    await system.query("as support", { role: "support", threadId: mixed.threadId });
    const hidden = await system.query("only admin", { role: "admin" });

    const foreign = await system.get(`/agents/${other.agentId}/threads/${mixed.threadId}`, {
      "x-api-key": other.apiKey,
    });
    expect(foreign.status).toBe(404);
    const thread = await read<ThreadDetail>(system.get(`${threadsOf(system)}/${mixed.threadId}`, key));
    const asked = thread.messages.filter(({ role }) => role === "user").map(({ content }) => content);
    expect(asked).toEqual(["without a role", "as support"]);
    const page = await read<ThreadPage>(system.get(threadsOf(system), key));
    expect(page.items.map(({ threadId }) => threadId)).toEqual([mixed.threadId]);
    for (const method of ["GET", "DELETE"]) {
      const path = `${system.url}${threadsOf(system)}/${hidden.threadId}`;
      expect((await fetch(path, { method, headers: key })).status).toBe(404);
    }
    expect((await system.get(`${threadsOf(system)}/${hidden.threadId}`)).status).toBe(200);
  });
});

describe("DELETE of the same path", () => {
  const erase = (system: ContractSystem, threadId: string, key = system.apiKey) =>
    fetch(`${system.url}${threadsOf(system)}/${threadId}`, { method: "DELETE", headers: { "x-api-key": key } });

  test("204; erases its messages, events and calls", async () => {
    await using system = await startContractSystem(
      callThenAnswer([{ name: "look_up", arguments: { id: "secret-7" } }]),
    );
    const { threadId, runId } = await system.query("hi");

    expect((await erase(system, threadId)).status).toBe(204);

    const paths = [`${threadsOf(system)}/${threadId}`, `/agents/${system.agentId}/runs/${runId}`];
    for (const path of [...paths, `${paths[1]}/events`]) expect((await system.get(path)).status).toBe(404);
    expect(await system.plane.store.runs.events(runId, 0, 10)).toEqual([]);
    expect(await system.plane.store.runs.checkpoint(runId)).toMatchObject({ turns: [], calls: [] });
    expect((await erase(system, threadId)).status).toBe(404);
    const next = await system.post(system.path(), { query: "hi", threadId });
    expect(await next.json()).toMatchObject({ errorMessage: "Thread not found" });
  });

  test("cancels runs and waiting queries of the thread", async () => {
    await using system = await startContractSystem(callThenAnswer([{ name: "wait", arguments: { id: "a" } }]));
    const first = openStream(await system.post(system.path("query-stream"), { query: "hi" }));
    await first.until(typed("toolCall"));
    const threadId = first.headers.get("X-Thread-Id") ?? "";
    const second = openStream(await system.post(system.path("query-stream"), { query: "ho", threadId }));

    expect((await erase(system, threadId)).status).toBe(204);

    for (const stream of [first, second])
      expect((await stream.until(typed("error"))).data).toMatchObject({ code: "cancelled" });
    await system.desk.stopped("a");
  });
});

describe("GET /functions/connect (WebSocket; a runtime's connection)", () => {
  function dial(system: ContractSystem, headers: Record<string, string>): Promise<number> {
    const socket = new WebSocket(`${system.url.replace("http", "ws")}/functions/connect`, { headers });
    return new Promise((resolve) => {
      socket.on("open", () => resolve(101));
      socket.on("unexpected-response", (_, { statusCode }) => resolve(statusCode ?? 0));
      socket.on("error", () => {});
    }).finally(() => socket.terminate()) as Promise<number>;
  }

  test("accepts only the runtime key as Authorization: Bearer, and no Origin header", async () => {
    await using system = await startContractSystem(answering);
    const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
    expect(await dial(system, bearer(system.runtimeKey))).toBe(101);
    for (const secret of [system.apiKey, system.accessToken, "nothing"])
      expect(await dial(system, bearer(secret))).toBe(401);
    expect(await dial(system, {})).toBe(401);
    expect(await dial(system, { ...bearer(system.runtimeKey), origin: system.url })).toBe(403);
  });
});

describe("GET", () => {
  test("/healthz (process alive), /readyz (store, bus and migrations ready)", async () => {
    await using system = await startContractSystem(answering);
    expect([(await fetch(`${system.url}/healthz`)).status, (await fetch(`${system.url}/readyz`)).status]).toEqual([
      200, 200,
    ]);
    const ping = system.plane.store.ping;
    Object.assign(system.plane.store, { ping: () => Promise.reject(new StoreUnavailable("unavailable")) });
    expect([(await fetch(`${system.url}/healthz`)).status, (await fetch(`${system.url}/readyz`)).status]).toEqual([
      200, 503,
    ]);
    Object.assign(system.plane.store, { ping });
  });

  test("/metrics (Prometheus) counts runs, calls and connected runtimes, and contains no text of queries", async () => {
    await using system = await startContractSystem(
      callThenAnswer([{ name: "look_up", arguments: { id: "secret-7" } }]),
    );
    await system.query("a private question", { role: "private-role" });

    const text = await (await fetch(`${system.url}/metrics`)).text();

    expect(text).toMatch(/^patchbay_runs_total{outcome="succeeded"} 1$/m);
    expect(text).toMatch(/^patchbay_function_calls_total{outcome="succeeded"} 1$/m);
    expect(text).toMatch(/^patchbay_runtimes_connected 1$/m);
    expect(text).not.toMatch(/private|secret-7/);
  });

  test("/metrics with a separate port are not served at the public one, which still serves /readyz", async () => {
    await using system = await startContractSystem(answering, { metricsPort: 0 });
    const apart = new URL(system.plane.metricsUrl);
    const statusOf = async (url: string) => (await fetch(url)).status;

    expect(apart.origin).not.toBe(system.url);
    expect(await (await fetch(apart)).text()).toContain("patchbay_runs_total");
    expect([await statusOf(`${system.url}/metrics`), await statusOf(`${system.url}/readyz`)]).toEqual([404, 200]);
    for (const path of ["/readyz", "/healthz", "/openapi.json", threadsOf(system), "/console"])
      expect(await statusOf(apart.origin + path)).toBe(404);
    const { paths } = await read<{ paths: object }>(fetch(`${system.url}/openapi.json`));
    expect(Object.keys(paths)).not.toContain("/metrics");
    await system.plane.close({ graceMs: 0 });
    await expect(fetch(apart)).rejects.toThrow();
  });

  test.each([{}, { metricsPort: 0 }])("/metrics require their token if one is configured (%j)", async (options) => {
    await using system = await startContractSystem(answering, { metricsToken: "t0ken", ...options });
    const ask = async (headers: Record<string, string>) => {
      const response = await fetch(system.plane.metricsUrl, { headers });
      return [response.status, (await response.text()).includes("patchbay_runs_total")];
    };

    expect(await ask({ authorization: "Bearer t0ken" })).toEqual([200, true]);
    for (const wrong of [{}, { authorization: "Bearer t0ke" }, { "x-api-key": system.apiKey }])
      expect(await ask(wrong as Record<string, string>)).toEqual([401, false]);
  });

  test("/openapi.json (3.1)", async () => {
    await using system = await startContractSystem(answering);
    const document = await read<{ openapi: string; paths: object }>(fetch(`${system.url}/openapi.json`));
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(Object.keys(document.paths)).toContain("/agents/{agent_id}/query-stream");
  });
});

const ISO = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/) as string;
