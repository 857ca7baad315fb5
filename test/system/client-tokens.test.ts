import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { createTracedService } from "../support/traced-service.ts";
import { startIssuer } from "../support/issuer.ts";
import { startSystem, type SystemOptions } from "../support/system.ts";

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

test("a token opens no route of a key", async () => {
  await using system = await start();
  const token = String((await system.make({})).body["token"]);
  const agent = `/agents/${system.agentId}`;
  const routes = ["query", "query-stream", "client-tokens"].map((name) => ["POST", `${agent}/${name}`] as const);
  const reads = ["threads", "approvals"].map((name) => ["GET", `${agent}/${name}`] as const);
  for (const headers of [{ "x-api-key": token }, { authorization: `Bearer ${token}` }])
    for (const [method, path] of [...routes, ...reads, ["POST", "/agent/query-stream"] as const]) {
      const body = method === "POST" ? { body: JSON.stringify({ query: "hi" }) } : {};
      const init = { method, headers: { "content-type": "application/json", ...headers } as HeadersInit, ...body };
      expect([path, (await fetch(system.url + path, init)).status]).toEqual([path, 401]);
    }
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
