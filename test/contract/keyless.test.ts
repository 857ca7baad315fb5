import { defineFunction, defineService } from "@patchbay/functions";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { freePort } from "@patchbay/test-support/free-port";
import { startIssuer } from "@patchbay/test-support/issuer";
import type { Script } from "@patchbay/test-support/providers";
import { type ContractSystem, startContractSystem } from "./contract-system.ts";

const who = defineFunction({
  name: "who",
  description: "Says who asks.",
  input: z.object({}),
  roles: "everyone",
  handler: (_input, { role, context }) => ({ role: role ?? null, context }),
});
const wipe = defineFunction({
  name: "wipe",
  description: "Deletes everything.",
  input: z.object({}),
  roles: ["manager"],
  handler: () => "wiped",
});
const pay = defineFunction({
  name: "pay",
  description: "Pays to an account.",
  input: z.object({}),
  roles: ["clerk", "manager"],
  approval: { by: ["caller", "manager"], fourEyes: true },
  handler: () => "paid",
});
const refund = defineFunction({
  name: "refund",
  description: "Pays back.",
  input: z.object({}),
  roles: ["clerk", "manager"],
  approval: { by: ["caller"] },
  handler: () => "refunded",
});
const service = defineService({ name: "desk", functions: [who, wipe, pay, refund] });
const script: Script = ({ step, query }) => {
  const [, name] = /call (\w+)/.exec(query) ?? [];
  if (step > 0 || query.includes("hi")) return { text: "Done." };
  const names = name === undefined ? ["who", "wipe"] : [name];
  return { calls: names.map((one) => ({ name: one, arguments: {} })) };
};

let issuer: Awaited<ReturnType<typeof startIssuer>>;
let system: ContractSystem;
let address: string;

beforeAll(async () => {
  issuer = await startIssuer();
  const port = await freePort();
  const callers = { issuer: issuer.url, roleClaim: "role", contextClaims: ["sub=userId"], scope: "desk" };
  system = await startContractSystem(script, { service, callers, port, publicUrl: `http://127.0.0.1:${port}` });
  address = `${system.url}/agents/${system.agentId}`;
  await system.plane.admin.updateAgent(system.agentId, { settings: { callers: "keyless" } });
});

afterAll(async () => {
  await system?.[Symbol.asyncDispose]();
  await issuer?.[Symbol.asyncDispose]();
});

const tokenOf = (claims: object = {}) => issuer.token({ aud: address, scope: "desk", role: "clerk", ...claims });

interface Asked {
  method?: string;
  body?: object;
  headers?: Record<string, string>;
}

async function ask(path: string, token: string | undefined, { method = "POST", body, headers = {} }: Asked = {}) {
  const response = await fetch(address + path, {
    method,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const challenge = response.headers.get("WWW-Authenticate");
  return { status: response.status, challenge, text, json: text.startsWith("{") ? JSON.parse(text) : undefined };
}

const query = (token: string | undefined, body: object = {}, headers = {}) =>
  ask("/query", token, { body: { query: "call", ...body }, headers });
const list = { body: { jsonrpc: "2.0", id: 1, method: "tools/list" } };

test("a token without a key queries under its role and context, and runs nothing of another role", async () => {
  const { status, json } = await query(await tokenOf());

  expect(status).toBe(200);
  const [asked, wiped] = json.toolInteractions;
  expect(asked).toMatchObject({ success: true, result: { role: "clerk", context: { userId: "ada" } } });
  expect(wiped).toMatchObject({ success: false, code: "unknown_function" });
});

test.each([
  ["no role claim", { role: undefined }],
  ["a null role", { role: null }],
])("a token with %s proves no role, and none can be stated", async (_what, claims) => {
  const token = await tokenOf(claims);

  const { json } = await query(token);
  expect(json.toolInteractions[0]).toMatchObject({ result: { role: null } });
  expect(await query(token, { role: "manager" })).toMatchObject({ status: 403, json: { code: "role_not_allowed" } });
});

test("without a role claim in the configuration, a token without a key states no role", async () => {
  const callers = { issuer: issuer.url, audience: issuer.audience };
  await using other = await startContractSystem(script, { service, callers });
  await other.plane.admin.updateAgent(other.agentId, { settings: { callers: "keyless" } });
  const authorization = `Bearer ${await issuer.token({ role: "manager" })}`;
  const send = (body: object) =>
    fetch(`${other.url}${other.path()}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization },
      body: JSON.stringify({ query: "call", ...body }),
    });

  expect((await send({ role: "manager" })).status).toBe(403);
  const { toolInteractions } = (await (await send({})).json()) as { toolInteractions: object[] };
  expect(toolInteractions).toMatchObject([{ result: { role: null } }, { success: false }]);
});

test("the MCP endpoint says where tokens come from, and other routes do not", async () => {
  const metadata = `${system.url}/.well-known/oauth-protected-resource/agents/${system.agentId}/mcp`;
  const members = `scope="desk", resource_metadata="${metadata}"`;
  expect(await ask("/mcp", undefined, list)).toMatchObject({ status: 401, challenge: `Bearer ${members}` });
  const refused = { status: 401, challenge: `Bearer error="invalid_token", ${members}` };
  expect(await ask("/mcp", await tokenOf({ exp: 1 }), list)).toMatchObject(refused);
  expect(await query(undefined)).toMatchObject({ status: 401, challenge: 'Bearer scope="desk"' });

  const response = await fetch(metadata);
  expect(await response.json()).toEqual({
    resource: `${address}/mcp`,
    authorization_servers: [issuer.url],
    bearer_methods_supported: ["header"],
    scopes_supported: ["desk"],
  });
});

test("a request with a key follows the rules for keys", async () => {
  const key = { "x-api-key": "wrong" };
  expect(await query(await tokenOf(), {}, key)).toMatchObject({ status: 401, challenge: 'ApiKey realm="patchbay"' });
  expect(await query(undefined, { role: "manager" }, { "x-api-key": system.apiKey })).toMatchObject({ status: 200 });
  const proving = { "x-api-key": system.apiKey, "x-patchbay-caller": await tokenOf({ scope: undefined }) };
  expect(await query(undefined, {}, proving)).toMatchObject({ status: 200 });
});

test("agents that need a key answer as before", async () => {
  const { agentId } = await system.plane.admin.createAgent("Keys only", { orgId: system.orgId });
  const headers = { authorization: `Bearer ${await tokenOf({ aud: `${system.url}/agents/${agentId}` })}` };
  const send = (path: string, method = "POST") => fetch(system.url + path, { method, headers });

  const api = await send(`/agents/${agentId}/query`);
  expect([api.status, api.headers.get("WWW-Authenticate")]).toEqual([401, 'ApiKey realm="patchbay"']);
  expect(await api.json()).toMatchObject({ errorMessage: "Authentication failed" });
  // A reason would tell that the token was read.
  headers.authorization = `Bearer ${await tokenOf({ exp: 1 })}`;
  expect(await (await send(`/agents/${agentId}/query`)).json()).toMatchObject({
    errorMessage: "Authentication failed",
  });
  const mcp = await send(`/agents/${agentId}/mcp`);
  expect([mcp.status, mcp.headers.get("WWW-Authenticate")]).toEqual([401, 'Bearer error="invalid_token"']);
  const unknown = await send("/agents/agt_unknown/query");
  expect([unknown.status, unknown.headers.get("WWW-Authenticate")]).toEqual([401, 'ApiKey realm="patchbay"']);
  for (const id of [agentId, "agt_unknown"])
    expect((await send(`/.well-known/oauth-protected-resource/agents/${id}/mcp`, "GET")).status).toBe(404);
});

test("a token without the scope is answered with 403, which is audited, on every adapter", async () => {
  const token = await tokenOf({ scope: "other" });
  const challenge = 'Bearer error="insufficient_scope", scope="desk"';

  expect(await query(token)).toMatchObject({ status: 403, challenge, json: { code: "role_not_allowed" } });
  const mcp = await ask("/mcp", token, list);
  expect(mcp).toMatchObject({ status: 403, challenge: expect.stringContaining(`${challenge}, resource_metadata=`) });
  expect((await ask("/v1/models", token, { method: "GET" })).status).toBe(403);
  const { items } = await system.plane.store.audit.list({ orgId: system.orgId, limit: 100 });
  const entry = items.find(({ action }) => action === "caller.refused");
  expect(entry).toMatchObject({ rule: "role_not_allowed", keyId: expect.stringMatching(/^clr_[0-9a-f]{32}$/) });
});

test.each([
  ["another audience", { aud: "patchbay" }],
  ["the audience of another agent", { aud: "http://127.0.0.1/agents/agt_2" }],
  ["another issuer", { iss: "https://evil.example" }],
  ["the claims of an ID token", { nonce: "n" }],
])("a token with %s is refused", async (_what, claims) => {
  expect(await query(await tokenOf(claims))).toMatchObject({ status: 401, json: { code: "authentication_failed" } });
});

test("callers without a key have their own runs, threads and idempotency keys", async () => {
  const [ada, eve] = [await tokenOf(), await tokenOf({ sub: "eve" })];
  const headers = { "idempotency-key": "same" };
  const first = await query(ada, { query: "hi" }, headers);
  const again = await query(await tokenOf(), { query: "hi" }, headers);
  const other = await query(eve, { query: "hi" }, headers);

  expect(again.json.runId).toBe(first.json.runId);
  expect(other).toMatchObject({ status: 200 });
  expect(other.json.runId).not.toBe(first.json.runId);
  const { runId, threadId } = first.json;
  expect((await ask(`/runs/${runId}`, eve, { method: "GET" })).status).toBe(404);
  expect((await ask(`/runs/${runId}`, ada, { method: "GET" })).status).toBe(200);
  expect((await ask(`/threads/${threadId}`, eve, { method: "GET" })).status).toBe(404);
  expect((await query(eve, { query: "hi", threadId })).status).toBe(400);
});

test("a client token of a caller without a key ends when its agent needs a key, and so do its own requests", async () => {
  const ada = await tokenOf();
  const made = await ask("/client-tokens", ada, {
    body: { role: "clerk", context: { userId: "ada" }, allow: ["mcp"], expiresInSeconds: 600 },
  });
  expect(made.status, made.text).toBe(201);
  const call = { body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "who", arguments: {} } } };
  const page = () => ask("/mcp", made.json.token, call);
  const called = await page();
  expect(called.text).toContain("ada");

  const set = (callers: "keyless" | "optional") =>
    system.plane.admin.updateAgent(system.agentId, { settings: { callers } });
  await set("optional");
  expect((await page()).status).toBe(401);
  expect((await query(ada)).status).toBe(401);
  await set("keyless");
  expect((await page()).status).toBe(200);
});

test("a caller confirms its own call, and four eyes need another subject, whatever sends its token", async () => {
  const ada = await tokenOf({ role: ["clerk", "manager"] });
  const decide = (id: string, token: string | undefined, headers = {}) =>
    ask(`/approvals/${id}/decision`, token, { body: { approved: true, as: "manager" }, headers });
  const asked = async (name: string) => {
    const { json } = await query(ada, { query: `call ${name}`, role: "manager" });
    expect(json.code).toBe("approval_required");
    return json.approvals[0].approvalId as string;
  };

  const own = await asked("refund");
  expect((await decide(own, ada)).status).toBe(200);
  const guarded = await asked("pay");
  const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, can: ["approve"] });
  expect((await decide(guarded, ada)).status).toBe(403);
  const withKey = await decide(guarded, undefined, { "x-api-key": apiKey, "x-patchbay-caller": ada });
  expect(withKey.status).toBe(403);
  expect((await decide(guarded, await tokenOf({ sub: "eve", role: "manager" }))).status).toBe(200);
});

test("a run that waits does not continue after its agent needs a key again", async () => {
  const { json } = await query(await tokenOf(), { query: "call refund" });
  const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, can: ["approve"] });
  const body = { approved: true, as: "clerk" };
  await system.plane.admin.updateAgent(system.agentId, { settings: { callers: "optional" } });
  try {
    const decided = await ask(`/approvals/${json.approvals[0].approvalId}/decision`, undefined, {
      body,
      headers: { "x-api-key": apiKey },
    });
    expect(decided.status, decided.text).toBe(200);
    const status = async () => (await system.plane.store.runs.facts(system.agentId, json.runId))?.status;
    await expect.poll(status).toBe("cancelled");
  } finally {
    await system.plane.admin.updateAgent(system.agentId, { settings: { callers: "keyless" } });
  }
});
