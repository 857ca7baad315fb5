import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { silentLog } from "@patchbay/kit";
import { silentMetrics } from "@patchbay/engine/ports/metrics";
import type { ClientToken } from "@patchbay/engine/ports/store/client-tokens";
import type { ProvenCaller } from "@patchbay/engine/ports/callers";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import type { Credential } from "@patchbay/engine/ports/store/stores";
import type { HttpEnv } from "../../src/kernel/exchange.ts";
import { json } from "../../src/kernel/exchange.ts";
import { mountRoutes } from "../../src/kernel/routes.ts";
import { asAdapterCaller } from "../../src/query/caller.ts";
import { provenCaller } from "../accounts/proven-caller.ts";
import { createFakeRuns } from "./support/fake-runs.ts";

const KEY = "service_live_mine";
const PAGE = "patchbay_ct_mine";
const FIXED = { role: "clerk", context: { customerId: "c_1" } };
const ALLOW = { allow: ["ui-stream", "mcp"] as const };

/** What an adapter gets to know of a request with these headers. */
async function ask(
  headers: Record<string, string>,
  { agentId = "agt_1", ...of }: Partial<Credential> = {},
  {
    adapter = "adapter",
    isSpent = false,
    ...fixed
  }: Partial<ClientToken> & { adapter?: string; isSpent?: boolean } = {},
) {
  const credential = { credentialId: "key_1", kind: "api", agentId, orgId: "org_1", tier: "sandbox", ...of };
  const audited: { action: string }[] = [];
  const runs = createFakeRuns();
  runs.requireRole = async ({ roles }, role) => {
    if (role !== undefined && roles && !roles.includes(role)) throw new ServiceError("role_not_allowed", "no");
  };
  const deps = {
    runs,
    authenticate: async (_kind: string, secret: string) => (secret === KEY ? (credential as Credential) : undefined),
    within: <T>(_orgId: string, work: () => T) => work(),
    // The token is what it proves.
    proveCaller: async (token: string) => JSON.parse(token) as ProvenCaller,
    clientTokens: {
      create: () => Promise.reject(new Error("not used here")),
      authenticate: async (secret: string) =>
        secret === PAGE
          ? { token: { tokenId: "clt_1", ...FIXED, ...ALLOW, ...fixed }, key: credential as Credential }
          : undefined,
    },
    adapterLimit: async () => ({ allowed: !isSpent, limit: 600, remaining: 0, resetSeconds: 30 }),
    audit: { record: async (entries: readonly { action: string }[]) => void audited.push(...entries) },
    log: silentLog,
    trustProxy: false,
  };
  const app = new Hono<HttpEnv>();
  const route = {
    method: "POST" as const,
    path: `/agents/:agent_id/${adapter}`,
    handle: (exchange: Parameters<typeof asAdapterCaller>[0]) =>
      asAdapterCaller(exchange, deps, async (caller) => json(exchange, 200, caller)),
  };
  const api = { name: "query", routes: [route], metrics: silentMetrics, log: silentLog, documentPath: "/" };
  mountRoutes(app, api, () => undefined);
  const response = await app.request(`/agents/agt_1/${adapter}`, { method: "POST", headers }, {});
  const challenge = response.headers.get("WWW-Authenticate");
  return { status: response.status, challenge, body: await response.json(), audited };
}

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const key = { "X-API-Key": KEY };

test.each([{ "X-API-Key": KEY }, { Authorization: `Bearer ${KEY}` }])("the key is accepted as %j", async (headers) => {
  const { status, body } = await ask({ ...headers });

  const holder = { keyId: "key_1", agentId: "agt_1", orgId: "org_1", tier: "sandbox" };
  expect(status).toBe(200);
  expect(body).toEqual({ principal: holder, holder, threadScope: "key_1" });
});

test("the headers state role and context, and the principal is narrowed to the role", async () => {
  const context = { customerId: "c_1", name: "Zoë" };

  const { body } = await ask({ ...key, "X-Patchbay-Role": "clerk", "X-Patchbay-Context": encoded(context) });

  expect(body).toMatchObject({ role: "clerk", context, principal: { roles: ["clerk"] } });
});

test("a key with one role has that role, and a header that names another one is refused", async () => {
  const pinned = { roles: ["clerk"] };

  expect(await ask(key, pinned)).toMatchObject({ body: { role: "clerk", principal: { roles: ["clerk"] } } });
  expect(await ask({ ...key, "X-Patchbay-Role": "clerk" }, pinned)).toMatchObject({ body: { role: "clerk" } });
  expect(await ask({ ...key, "X-Patchbay-Role": "manager" }, pinned)).toMatchObject({
    status: 403,
    body: { code: "role_not_allowed" },
  });
});

test("a role that the key may not state is refused", async () => {
  const answer = await ask({ ...key, "X-Patchbay-Role": "manager" }, { roles: ["clerk", "guest"] });

  expect(answer).toMatchObject({ status: 403, body: { code: "role_not_allowed" } });
});

test("a key that was rotated has the thread ids of the first one", async () => {
  expect((await ask(key, { lineage: "key_0" })).body).toMatchObject({ threadScope: "key_0" });
});

test("the token of a caller narrows the role, and its chats are its own", async () => {
  const token = { ...provenCaller("ada"), roles: ["clerk"] };
  const proving = { ...key, "X-Patchbay-Caller": JSON.stringify(token) };

  const { body } = await ask(proving);
  const other = await ask({ ...key, "X-Patchbay-Caller": JSON.stringify({ ...token, ...provenCaller("eve") }) });

  expect(body).toMatchObject({ role: "clerk", principal: { roles: ["clerk"], proven: token } });
  const scopes = [body, other.body, (await ask(key)).body].map((one) => (one as { threadScope: string }).threadScope);
  expect(new Set(scopes).size).toBe(3);
  expect(await ask({ ...proving, "X-Patchbay-Role": "manager" })).toMatchObject({ status: 403 });
  expect(await ask({ ...proving, "X-Patchbay-Role": "clerk" })).toMatchObject({ body: { role: "clerk" } });
  expect(await ask(proving, { roles: ["guest"] })).toMatchObject({ status: 403, body: { code: "role_not_allowed" } });
  expect(await ask(key, { needsProof: true })).toMatchObject({ status: 401 });
});

test.each([
  [{}, "Bearer"],
  [{ Authorization: "Bearer wrong" }, 'Bearer error="invalid_token"'],
  [{ "X-API-Key": "wrong", Authorization: `Bearer ${KEY}` }, 'Bearer error="invalid_token"'],
])("%j is answered with 401 and the challenge %s", async (headers, challenge) => {
  expect(await ask(headers as Record<string, string>)).toMatchObject({ status: 401, challenge });
});

test("a refused caller is audited within the limit of requests, and gets the challenge of adapters", async () => {
  const refused = { status: 401, challenge: 'Bearer error="invalid_token"' };
  const needs = { needsProof: true } as const;
  const entry = { action: "caller.refused", rule: "caller_token" };

  expect(await ask(key, needs)).toMatchObject({ ...refused, audited: [entry] });
  expect(await ask(key, needs, { isSpent: true })).toMatchObject({ ...refused, audited: [] });
  const page = { Authorization: `Bearer ${PAGE}` };
  expect(await ask(page, needs, { adapter: "mcp" })).toMatchObject({ ...refused, audited: [entry] });
});

test("the key of another agent is refused", async () => {
  expect(await ask(key, { agentId: "agt_2" })).toMatchObject({ status: 403, body: { code: "agent_mismatch" } });
});

test.each([
  ["{}", "must be base64url"],
  [Buffer.from([0x22, 0xff, 0x22]).toString("base64url"), "must hold UTF-8"],
  [encoded([1]), "must hold a JSON object"],
  [encoded({ a: "x".repeat(8_192) }), "must have at most 8192 bytes"],
  [Buffer.from('{"id":12345678901234567890}').toString("base64url"), "12345678901234567890"],
])("the context %.20s is refused", async (context, message) => {
  const { status, body } = await ask({ ...key, "X-Patchbay-Context": context });

  expect(status).toBe(400);
  expect(body).toMatchObject({ details: [{ path: "X-Patchbay-Context" }] });
  expect(JSON.stringify(body)).toContain(message);
});

test("a role is refused above 200 characters", async () => {
  expect(await ask({ ...key, "X-Patchbay-Role": "r".repeat(201) })).toMatchObject({
    status: 400,
    body: { details: [{ path: "X-Patchbay-Role" }] },
  });
});

describe("a client token", () => {
  const page = { Authorization: `Bearer ${PAGE}` };
  const onAdapter = { adapter: "ui-stream" };
  const scopeOf = async (fixed: Partial<ClientToken>, of: Partial<Credential> = {}) =>
    ((await ask(page, of, { ...onAdapter, ...fixed })).body as { threadScope: string }).threadScope;

  test("fixes role and context, whatever the headers and the key say", async () => {
    const stated = { "X-Patchbay-Role": "manager", "X-Patchbay-Context": encoded({ customerId: "c_2" }) };

    const { status, body } = await ask(
      { ...page, ...stated },
      { roles: ["clerk", "manager"], can: ["approve"] },
      onAdapter,
    );

    expect(status).toBe(200);
    expect(body).toMatchObject({ ...FIXED, principal: { keyId: "key_1", roles: ["clerk"], fixed: FIXED } });
    expect((body as { principal: object }).principal).not.toHaveProperty("can");
  });

  test.each<[ClientToken["allow"], string]>([
    [["ui-stream"], "mcp"],
    [["mcp"], "ui-stream"],
    [["mcp"], "ui-stream/chat/messages"],
  ])("that allows %j does not open %s", async (allow, adapter) => {
    const { status, challenge, body } = await ask(page, { agentId: "agt_2" }, { adapter, allow });

    expect([status, challenge]).toEqual([401, 'Bearer error="invalid_token"']);
    expect(body).toMatchObject({ errorMessage: expect.stringContaining(`this client token allows ${allow[0]} only`) });
  });

  test("opens chats of its key, role and context only", async () => {
    const scopes = [
      await scopeOf({}),
      await scopeOf({ role: "manager" }),
      await scopeOf({ context: { customerId: "c_2" } }),
      await scopeOf({}, { credentialId: "key_2" }),
      await scopeOf({ proven: provenCaller("ada") }),
      await scopeOf({ proven: provenCaller("ada", "https://id.other") }),
      ((await ask(key)).body as { threadScope: string }).threadScope,
    ];
    expect(new Set(scopes).size).toBe(scopes.length);
    expect(await scopeOf({}, { credentialId: "key_2", lineage: "key_1" })).toBe(scopes[0]);
    expect((await ask(page, {}, { ...onAdapter, threadKey: "chat" })).body).toMatchObject({ threadKey: "chat" });
  });

  test.each([
    [page, "v1/chat/completions"],
    [page, "adapter"],
    [{ "X-API-Key": PAGE }, "ui-stream"],
    [{ "X-API-Key": "wrong", ...page }, "mcp"],
    [{ Authorization: `Bearer ${PAGE}x` }, "mcp"],
  ])("%j is refused on %s", async (headers, adapter) => {
    const answer = await ask(headers, {}, { adapter });
    expect(answer).toMatchObject({ status: 401, challenge: 'Bearer error="invalid_token"' });
  });

  test.each(["ui-stream", "ui-stream/chat/stream", "mcp"])("is accepted on %s", async (adapter) => {
    expect(await ask(page, {}, { adapter })).toMatchObject({ status: 200 });
  });

  test("opens no other agent", async () => {
    expect(await ask(page, { agentId: "agt_2" }, onAdapter)).toMatchObject({
      status: 403,
      body: { code: "agent_mismatch" },
    });
  });

  test("needs a proven caller where its agent requires one, from its making or from its header", async () => {
    const required = { needsProof: true } as const;
    const caller = (subject: string, roles = ["clerk"]) => ({
      ...page,
      "X-Patchbay-Caller": JSON.stringify({ ...provenCaller(subject), roles }),
    });
    const made = { ...onAdapter, proven: provenCaller("ada") };

    expect(await ask(page, required, onAdapter)).toMatchObject({ status: 401 });
    expect(await ask(caller("ada"), required, onAdapter)).toMatchObject({ status: 200 });
    expect(await ask(page, required, made)).toMatchObject({
      status: 200,
      body: { principal: { proven: { subject: "ada" } } },
    });
    expect(await ask(caller("eve"), {}, made)).toMatchObject({ status: 401 });
    expect(await ask(caller("ada", ["manager"]), {}, made)).toMatchObject({ status: 403 });
  });
});
