import { expect, test } from "vitest";
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
    await system.post(`/agents/${system.agentId}/client-tokens`, { role: "manager", expiresInSeconds: 60 })
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
