import { expect, test } from "vitest";
import { mcpClient } from "@patchbay/test-support/mcp-client";
import { startDesk } from "../support/mcp-desk.ts";

const callOf = (name: string, input: Record<string, unknown> = {}) => ({ name, arguments: input });

test.each(["2025", "2026"])(
  "a stream of %s that ends by itself frees its place among the open streams",
  async (era) => {
    await using system = await startDesk({ limits: { streamsPerKey: 1 } });
    const version = "2026-07-28";
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const modern = { "mcp-protocol-version": version, "mcp-method": "subscriptions/listen" };
    const params = { notifications: {}, ...(era === "2026" && { _meta }) };
    const listen = () =>
      system.post(
        `/agents/${system.agentId}/mcp`,
        { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params },
        { accept: "application/json, text/event-stream", ...(era === "2026" && modern) },
      );

    for (let count = 0; count < 2; count++) {
      const response = await listen();
      expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
      expect(await response.text()).toContain(era === "2026" ? '"complete"' : "Method not found");
    }
  },
);

test("requests of foreign pages, without a key, in batches and with unknown parameters are refused", async () => {
  await using system = await startDesk();
  const path = `/agents/${system.agentId}/mcp`;
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  const send = async (headers: Record<string, string>, body: unknown = ping, query = "") =>
    system.post(path + query, body, { accept: "application/json, text/event-stream", ...headers });

  expect((await send({ origin: "http://evil.example" })).status).toBe(403);
  expect((await send({ origin: system.url })).status).toBe(200);
  expect((await send({ origin: system.url.replace("127.0.0.1", "localhost") })).status).toBe(200);
  const unknown = await send({ "x-api-key": "wrong" });
  expect([unknown.status, unknown.headers.get("www-authenticate")]).toEqual([401, 'Bearer error="invalid_token"']);
  const batch = await send({}, [ping]);
  expect([batch.status, await batch.json()]).toMatchObject([400, { error: { code: -32600 } }]);
  expect((await send({}, ping, "?expose=all")).status).toBe(400);
  expect((await send({}, { ...ping, params: { text: "x".repeat(1024 * 1024) } })).status).toBe(413);
  expect((await system.get(path)).status).toBe(405);
});

test("a page of any origin calls with its client token, and reads the answer", async () => {
  await using system = await startDesk();
  const { token } = (await (
    await system.post(`/agents/${system.agentId}/client-tokens`, {
      role: "manager",
      allow: ["mcp"],
      expiresInSeconds: 60,
    })
  ).json()) as { token: string };
  const origin = "https://shop.example";
  const send = (secret: string) =>
    fetch(`${system.url}/agents/${system.agentId}/mcp`, {
      method: "POST",
      headers: {
        origin,
        authorization: `Bearer ${secret}`,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "x-patchbay-role": "clerk",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: callOf("orders_find", { id: "o1" }),
      }),
    });

  const answer = await send(token);

  expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, origin]);
  // The token decides the role, not the header.
  expect(await answer.text()).toContain('"structuredContent":{"id":"o1","cost":5}');
  const byKey = await send(system.apiKey);
  expect([byKey.status, byKey.headers.get("access-control-allow-origin")]).toEqual([403, null]);
});

test("a batch is refused in every revision, and a cancellation of 2025 does nothing", async () => {
  await using system = await startDesk();
  const send = (body: unknown, headers: Record<string, string> = {}) =>
    system.post(`/agents/${system.agentId}/mcp`, body, {
      accept: "application/json, text/event-stream",
      "x-patchbay-role": "clerk",
      ...headers,
    });
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  for (const version of ["2025-03-26", "2025-11-25", "2026-07-28"]) {
    const batch = await send([list], { "mcp-protocol-version": version, "mcp-method": "tools/list" });
    expect([batch.status, await batch.json()]).toMatchObject([400, { id: null, error: { code: -32_600 } }]);
  }

  const call = send({ jsonrpc: "2.0", id: 7, method: "tools/call", params: callOf("steps") });
  const runs = () => system.plane.store.runs.list(system.agentId, { limit: 1 });
  await expect.poll(async () => (await runs())[0]?.status).toBe("running");
  const cancelled = await send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } });
  expect([cancelled.status, await cancelled.text()]).toEqual([202, ""]);
  system.seen();

  expect(await (await call).text()).toContain('"text":"done"');
});

test("a page of a configured origin uses a key without reading the response, and others are refused", async () => {
  const origin = "https://shop.example";
  await using system = await startDesk({ corsOrigins: [origin] });
  const send = (from: string) =>
    system.post(
      `/agents/${system.agentId}/mcp`,
      { jsonrpc: "2.0", id: 1, method: "ping" },
      { accept: "application/json, text/event-stream", origin: from },
    );
  const answer = async (from: string) => {
    const { status, headers } = await send(from);
    return [status, headers.get("access-control-allow-origin")];
  };

  expect(await answer(origin)).toEqual([200, null]);
  expect(await answer("https://other.example")).toEqual([403, null]);
});

const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

test("the server's own origin has the scheme, the host and the port of the request", async () => {
  await using system = await startDesk();
  const statusFor = async (origin: string, headers: Record<string, string> = {}) => {
    const all = { accept: "application/json, text/event-stream", origin, ...headers };
    return (await system.post(`/agents/${system.agentId}/mcp`, ping, all)).status;
  };
  const { port } = new URL(system.url);

  for (const host of ["127.0.0.1", "localhost", "[::1]"]) {
    expect(await statusFor(`http://${host}:${port}`)).toBe(200);
    expect(await statusFor(`https://${host}:${port}`)).toBe(403);
    expect(await statusFor(`http://${host}`)).toBe(403);
  }
  expect(await statusFor("null")).toBe(403);
  // Without a trusted proxy the header is the client's own.
  expect(await statusFor(`https://127.0.0.1:${port}`, { "x-forwarded-proto": "https" })).toBe(403);
});

test("behind a trusted proxy the server's own origin is the one that the proxy names", async () => {
  await using system = await startDesk({ trustProxy: true });
  const statusFor = async (origin: string, headers: Record<string, string>) => {
    const all = { accept: "application/json, text/event-stream", origin, ...headers };
    return (await system.post(`/agents/${system.agentId}/mcp`, ping, all)).status;
  };
  const proxied = { "x-forwarded-proto": "https", "x-forwarded-host": "desk.example" };

  expect(await statusFor("https://desk.example", proxied)).toBe(200);
  expect(await statusFor("http://desk.example", proxied)).toBe(403);
  expect(await statusFor("https://desk.example:8443", proxied)).toBe(403);
});

test.each(["functions", "agent"])("without credit, a call of the %s is refused and nothing runs", async (expose) => {
  await using system = await startDesk({ tier: "starter" });
  await using client = await mcpClient(system, { expose, headers: { "x-patchbay-role": "clerk" } });
  const call = () =>
    client.callTool(
      expose === "agent" ? callOf("ask_desk", { query: "Find order o1" }) : callOf("orders_find", { id: "o1" }),
    );

  expect(await call()).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("Insufficient credits") }],
    _meta: { "patchbay/code": "insufficient_credits" },
  });
  if (expose === "agent") return;
  await expect(client.callTool(callOf("refund", { amount: 3 }))).rejects.toThrow("Unknown tool: refund");
  await system.plane.admin.grant(system.orgId, "1");
  expect(await call()).toMatchObject({ structuredContent: { id: "o1" } });
});

test("a query to the agent has the limits of every query", async () => {
  await using system = await startDesk();
  await using client = await mcpClient(system, { expose: "agent" });
  const asked = (query: unknown) => client.callTool(callOf("ask_desk", { query }));
  const runs = async () => (await system.plane.store.runs.list(system.agentId, { limit: 9 })).map((run) => run.request);

  await expect(asked("x".repeat(100_001))).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining("query: must have at most 100000 UTF-16 units"),
  });
  for (const query of ["   ", 7, undefined]) await expect(asked(query)).rejects.toMatchObject({ code: -32602 });
  expect(await runs()).toEqual([]);

  await asked(`  ${"x".repeat(100_000)} \n`);
  expect(await runs()).toMatchObject([{ query: "x".repeat(100_000) }]);
});

test("calls count as queries, other requests have a limit ten times as high", async () => {
  const tiers = { small: { queriesPerMinute: 2, charged: false } };
  await using system = await startDesk({ tier: "small", tiers });
  const send = (method: string, params: object) =>
    system.post(
      `/agents/${system.agentId}/mcp`,
      { jsonrpc: "2.0", id: 1, method, params },
      { accept: "application/json, text/event-stream" },
    );
  const statuses = async (count: number, method: string, params: object) => {
    const seen: number[] = [];
    for (let i = 0; i < count; i++) seen.push((await send(method, params)).status);
    return seen;
  };

  expect(await statuses(3, "tools/call", callOf("orders_find", { id: "o1" }))).toEqual([200, 200, 429]);
  expect(await statuses(21, "tools/list", {})).toEqual([...Array<number>(20).fill(200), 429]);
});
