import { createHash } from "node:crypto";
import { defineFunction, defineService } from "@patchbay/functions";
import type { ClientDoor } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ROUTES, type RouteId } from "@patchbay/server/query/routes";
import { mcpClient } from "@patchbay/test-support/mcp-client";
import { createTracedService } from "../support/traced-service.ts";
import { startIssuer } from "@patchbay/test-support/issuer";
import { startSystem, type SystemOptions } from "@patchbay/test-support/system";

async function start(options: SystemOptions = {}) {
  const system = await startSystem({ service: createTracedService().service, ...options });
  const path = `/agents/${system.agentId}/client-tokens`;
  const make = async (body: object, headers: Record<string, string> = {}) => {
    const response = await system.post(path, { role: "clerk", expiresInSeconds: 60, ...body }, headers);
    return { status: response.status, body: (await response.json()) as Record<string, unknown>, response };
  };
  const find = (token: string) =>
    system.plane.store.clientTokens.find(createHash("sha256").update(token).digest("hex"));
  return { ...system, make, find };
}

test("a key makes a token, of which the store has the hash only", async () => {
  await using system = await start();
  const { status, body, response } = await system.make({ context: { customerId: "c_1" } });

  expect(status).toBe(201);
  expect(body).toEqual({ token: expect.stringMatching(/^patchbay_ct_\w{36}$/), expiresAt: expect.any(String) });
  expect(response.headers.get("Cache-Control")).toBe("no-store");
  const life = Date.parse(String(body["expiresAt"])) - Date.now();
  expect(life).toBeGreaterThan(0);
  expect(life).toBeLessThanOrEqual(60_000);
  const token = String(body["token"]);
  expect(await system.find(token)).toMatchObject({
    token: { role: "clerk", context: { customerId: "c_1" } },
    key: { credentialId: system.keyId },
  });
  expect(await system.plane.store.clientTokens.find(token)).toBeUndefined();
});

/** The routes that each adapter of client tokens has; all others of the table refuse every token. */
const OF_ADAPTERS: Record<ClientDoor, RouteId[]> = {
  "ui-stream": ["uiStream", "resumeUiStream", "stopUiStream", "uiMessages"],
  mcp: ["mcp"],
};

describe.each<{ threadKey?: string; allow?: ClientDoor[] }>([
  {},
  { threadKey: "chat" },
  { allow: ["ui-stream"] },
  { allow: ["mcp"] },
  { allow: ["mcp", "ui-stream"] },
  { allow: ["mcp", "ui-stream"], threadKey: "chat" },
])("a token made with %j", (made) => {
  test("opens the routes that it allows as Bearer, and no others", async () => {
    await using system = await start();
    const token = String((await system.make(made)).body["token"]);
    const opens = (made.allow ?? ["ui-stream"]).flatMap((adapter) => OF_ADAPTERS[adapter]);
    const seen: Record<string, string[]> = { Bearer: [], "X-API-Key": [] };
    for (const { id, method, path } of ROUTES.filter(({ access }) => access !== "open"))
      for (const [as, headers] of Object.entries({
        Bearer: { authorization: `Bearer ${token}` },
        "X-API-Key": { "x-api-key": token },
      })) {
        const url = system.url + path.replace(":agent_id", system.agentId).replace(/:\w+/, "x");
        const body = method === "POST" ? { body: "{}" } : {};
        const response = await fetch(url, {
          method,
          headers: { "content-type": "application/json", ...headers } as HeadersInit,
          ...body,
        });
        await response.body?.cancel();
        // Without an upgrade, the route of runtimes looks at no credential.
        if (response.status !== 401 && id !== "connect") seen[as]!.push(id);
      }

    expect(seen).toEqual({ Bearer: expect.arrayContaining(opens), "X-API-Key": [] });
    expect(seen["Bearer"]).toHaveLength(opens.length);
  });
});

test("a page reads why its token is refused", async () => {
  await using system = await start();
  const token = String((await system.make({})).body["token"]);
  const origin = "https://shop.example";

  const refused = await fetch(`${system.url}/agents/${system.agentId}/mcp`, {
    method: "POST",
    headers: { origin, authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: "{}",
  });

  expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, origin]);
  expect(await refused.json()).toMatchObject({
    code: "authentication_failed",
    errorMessage: expect.stringContaining('this client token allows ui-stream only. Make one with "mcp" in "allow".'),
  });
});

test("a token for one chat lists no tools, and calls none", async () => {
  const ran: string[] = [];
  const note = defineFunction({
    name: "note",
    description: "Notes a text.",
    input: z.object({ text: z.string() }),
    roles: ["clerk"],
    handler: ({ text }) => void ran.push(text),
  });
  await using system = await start({ service: defineService({ name: "desk", roles: ["clerk"], functions: [note] }) });
  const clientOf = async (more: object) => {
    const { body } = await system.make({ allow: ["mcp"], ...more });
    return await mcpClient({ ...system, apiKey: String(body["token"]) }, { expose: "both" });
  };
  await using open = await clientOf({});
  await using bound = await clientOf({ threadKey: "chat" });
  const namesOf = async (client: typeof open) => (await client.listTools()).tools.map(({ name }) => name);
  expect(await namesOf(open)).toEqual(["note", "ask_desk"]);

  expect(await namesOf(bound)).toEqual([]);

  const calls = [
    { name: "note", arguments: { text: "bound" } },
    { name: "ask_desk", arguments: { query: "hi" } },
  ];
  for (const call of calls) await expect(bound.callTool(call)).rejects.toMatchObject({ code: -32602 });
  await open.callTool({ name: "note", arguments: { text: "open" } });
  expect(ran).toEqual(["open"]);
  expect((await system.plane.store.runs.list(system.agentId, { limit: 9 })).length).toBe(1);
});

test.each([
  ["a token", {}, false],
  ["a token made without it", { reasoning: false }, false],
  ["a token made with it", { reasoning: true }, true],
  ["a key", undefined, true],
])("?reasoning=1 with %s", async (_what, made, asked) => {
  await using system = await start();
  const secret = made ? String((await system.make(made)).body["token"]) : system.apiKey;
  const message = { role: "user", parts: [{ type: "text", text: "hi" }] };

  const response = await fetch(`${system.url}/agents/${system.agentId}/ui-stream?reasoning=1`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({ id: "chat", messages: [message] }),
  });

  expect(response.status).toBe(200);
  await response.text();
  const run = await system.plane.store.runs.get(system.agentId, response.headers.get("X-Run-Id")!);
  expect(run?.request.analysisMode === true).toBe(asked);
});

test.each([
  [{ role: undefined }, "role"],
  [{ role: "" }, "role"],
  [{ role: ["clerk"] }, "role"],
  [{ expiresInSeconds: undefined }, "expiresInSeconds"],
  [{ expiresInSeconds: 0 }, "expiresInSeconds"],
  [{ expiresInSeconds: 3_601 }, "expiresInSeconds"],
  [{ expiresInSeconds: 1.5 }, "expiresInSeconds"],
  [{ context: ["c_1"] }, "context"],
  [{ context: null }, "context"],
  [{ context: { text: "x".repeat(65_537) } }, "context"],
  [{ threadKey: "" }, "threadKey"],
  [{ threadKey: "t".repeat(201) }, "threadKey"],
  [{ allow: [] }, "allow"],
  [{ allow: null }, "allow"],
  [{ allow: "mcp" }, "allow"],
  [{ allow: ["mcp", "mcp"] }, "allow"],
  [{ allow: ["ui-stream", "query"] }, "allow.1"],
  [{ reasoning: "yes" }, "reasoning"],
  [{ reasoning: null }, "reasoning"],
])("%.60j is refused", async (body, path) => {
  await using system = await start();
  expect(await system.make(body)).toMatchObject({ status: 400, body: { details: [{ path }] } });
});

test("a token has no role that its key or its proven caller lacks", async () => {
  await using issuer = await startIssuer();
  await using system = await start({
    callers: { issuer: issuer.url, audience: issuer.audience, roleClaim: "role", contextClaims: ["sub=customerId"] },
  });
  const { agentId } = system;
  const { apiKey } = await system.plane.admin.createKey({ agentId, roles: ["guest"] });
  const refused = { status: 403, body: { code: "role_not_allowed" } };
  expect(await system.make({ role: "clerk" }, { "x-api-key": apiKey })).toMatchObject(refused);

  const proven = { "x-patchbay-caller": await issuer.token({ role: "clerk" }) };
  expect(await system.make({ role: "manager" }, proven)).toMatchObject(refused);
  expect(await system.make({ context: { customerId: "eve" } }, proven)).toMatchObject({ status: 400 });
  const { body } = await system.make({ context: { theme: "dark" } }, proven);
  const context = { theme: "dark", customerId: "ada" };
  const made = { role: "clerk", context, proven: { subject: "ada" } };
  expect(await system.find(String(body["token"]))).toMatchObject({ token: made });

  await system.plane.admin.updateAgent(agentId, { settings: { callers: "required" } });
  expect(await system.make({})).toMatchObject({ status: 401 });
});
