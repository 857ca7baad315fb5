import { defineFunction, defineService } from "@patchbay/functions";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { freePort } from "@patchbay/test-support/free-port";
import { startIssuer } from "@patchbay/test-support/issuer";
import { callThenAnswer } from "@patchbay/test-support/providers";
import { type ContractSystem, startContractSystem } from "./contract-system.ts";

// What a resource server must do by RFC 6750, RFC 8707 and RFC 9728. check/oauth-rules.ts names the tests.

const who = defineFunction({
  name: "who",
  description: "Says who asks.",
  input: z.object({}),
  roles: "everyone",
  handler: (_input, { role }) => role ?? null,
});
const service = defineService({ name: "desk", functions: [who] });
const PAGE = "https://app.example";
const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };

let issuer: Awaited<ReturnType<typeof startIssuer>>;
let system: ContractSystem;
/** An agent whose tokens need no scope. */
let plain: ContractSystem;

async function start(more: { scope?: string }): Promise<ContractSystem> {
  const port = await freePort();
  const callers = { issuer: issuer.url, roleClaim: "role", ...more };
  const publicUrl = `http://127.0.0.1:${port}`;
  const started = await startContractSystem(callThenAnswer([{ name: "who" }]), { service, callers, port, publicUrl });
  await started.plane.admin.updateAgent(started.agentId, { settings: { callers: "keyless" } });
  return started;
}

beforeAll(async () => {
  issuer = await startIssuer();
  system = await start({ scope: "desk" });
  plain = await start({});
});

afterAll(async () => {
  await system?.[Symbol.asyncDispose]();
  await plain?.[Symbol.asyncDispose]();
  await issuer?.[Symbol.asyncDispose]();
});

const addressOf = ({ url, agentId }: ContractSystem) => `${url}/agents/${agentId}`;
const metadataOf = ({ url, agentId }: ContractSystem) =>
  `${url}/.well-known/oauth-protected-resource/agents/${agentId}/mcp`;
const tokenOf = (of: ContractSystem, claims: object = {}) =>
  issuer.token({ aud: addressOf(of), scope: "desk", role: "clerk", ...claims });

async function ask(
  path: string,
  headers: Record<string, string> = {},
  more: { of?: ContractSystem; body?: object } = {},
) {
  const { of = system, body } = more;
  const accept = "application/json, text/event-stream";
  const response = await fetch(addressOf(of) + path, {
    method: "POST",
    headers: { "content-type": "application/json", accept, ...headers },
    body: JSON.stringify(path === "/mcp" ? list : { query: "hi", ...body }),
  });
  await response.text();
  return { status: response.status, challenge: response.headers.get("WWW-Authenticate"), headers: response.headers };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

test.each(["Bearer", "bearer", "BEARER"])("the token is accepted after the scheme %s", async (scheme) => {
  const token = await tokenOf(system);
  expect(await ask("/query", { authorization: `${scheme} ${token}` })).toMatchObject({ status: 200 });
});

test("a token in the query, in the body or in another header is not read", async () => {
  const token = await tokenOf(system);
  expect(await ask(`/query?access_token=${token}`)).toMatchObject({ status: 401 });
  expect(await ask("/query", {}, { body: { access_token: token } })).toMatchObject({ status: 401 });
  expect(await ask("/query", { cookie: `access_token=${token}` })).toMatchObject({ status: 401 });
});

test("a request without a token gets a challenge without an error code", async () => {
  const metadata = `resource_metadata="${metadataOf(system)}"`;
  expect(await ask("/query")).toMatchObject({ status: 401, challenge: 'Bearer scope="desk"' });
  expect(await ask("/mcp")).toMatchObject({ status: 401, challenge: `Bearer scope="desk", ${metadata}` });
});

test("a challenge has at least one parameter", async () => {
  expect(await ask("/query", {}, { of: plain })).toMatchObject({ status: 401, challenge: 'Bearer realm="patchbay"' });
  const expired = bearer(await tokenOf(plain, { exp: 1 }));
  const refused = { status: 401, challenge: 'Bearer error="invalid_token"' };
  expect(await ask("/query", expired, { of: plain })).toMatchObject(refused);
});

test.each([
  ["an expired", { exp: 1 }],
  ["a foreign", { iss: "https://other.example" }],
])("%s token is answered with 401 and invalid_token", async (_what, claims) => {
  const expected = { status: 401, challenge: expect.stringMatching(/^Bearer error="invalid_token", scope="desk"/) };
  for (const path of ["/query", "/mcp"])
    expect(await ask(path, bearer(await tokenOf(system, claims)))).toMatchObject(expected);
});

test("a token without the scope is answered with 403 and the scope", async () => {
  const challenge = expect.stringMatching(/^Bearer error="insufficient_scope", scope="desk"/);
  for (const path of ["/query", "/mcp"])
    expect(await ask(path, bearer(await tokenOf(system, { scope: "mail" })))).toMatchObject({ status: 403, challenge });
});

test.each(["", "two words", 'a"b', "a\\b", "ü"])("the scope %j is refused at the start", async (scope) => {
  await expect(start({ scope })).rejects.toThrow("cannot be the scope of callers' tokens");
});

test("a token for another resource is refused, and one for several is accepted", async () => {
  const own = addressOf(system);
  const send = async (aud: string | string[]) => (await ask("/query", bearer(await tokenOf(system, { aud })))).status;
  expect(await send(`${own}/mcp`)).toBe(200);
  expect(await send(["https://mail.example", own])).toBe(200);
  for (const aud of [system.url, addressOf(plain), `${own}/query`, `${own}#x`, "https://mail.example"])
    expect(await send(aud)).toBe(401);
});

test("the metadata is JSON at the well-known path before the path of the endpoint", async () => {
  const response = await fetch(metadataOf(system));
  expect([response.status, response.headers.get("Content-Type")]).toEqual([200, "application/json"]);
  expect(await response.json()).toEqual({
    resource: `${addressOf(system)}/mcp`,
    authorization_servers: [issuer.url],
    bearer_methods_supported: ["header"],
    scopes_supported: ["desk"],
  });
});

test("the resource in the metadata is the address that the client requested", async () => {
  const { challenge } = await ask("/mcp");
  const [, named] = /resource_metadata="([^"]+)"/.exec(challenge!)!;
  const { resource } = (await (await fetch(named!)).json()) as { resource: string };
  expect(resource).toBe(`${addressOf(system)}/mcp`);
  expect(new URL(resource).hash).toBe("");
});

test("members of the metadata without a value are left out", async () => {
  expect(Object.keys((await (await fetch(metadataOf(plain))).json()) as object)).toEqual([
    "resource",
    "authorization_servers",
    "bearer_methods_supported",
  ]);
});

test("the metadata may be cached for minutes, and its absence may not", async () => {
  expect((await fetch(metadataOf(system))).headers.get("Cache-Control")).toBe("max-age=300");
  const unknown = await fetch(metadataOf({ ...system, agentId: "agt_unknown" }));
  expect([unknown.status, unknown.headers.get("Cache-Control")]).toEqual([404, "no-store"]);
  // Of one address with many agents, nothing can be said at the root.
  expect((await fetch(`${system.url}/.well-known/oauth-protected-resource`)).status).toBe(404);
});

test("a page of any origin finds the issuer and calls with the token of its user", async () => {
  const origin = { origin: PAGE };
  const readable = ({ headers }: { headers: Headers }) => headers.get("Access-Control-Allow-Origin");
  const refused = await ask("/mcp", origin);
  expect([refused.status, readable(refused)]).toEqual([401, PAGE]);
  expect(refused.headers.get("Access-Control-Expose-Headers")).toContain("WWW-Authenticate");

  const preflight = await fetch(metadataOf(system), {
    method: "OPTIONS",
    headers: {
      ...origin,
      "access-control-request-method": "GET",
      "access-control-request-headers": "mcp-protocol-version",
    },
  });
  expect([preflight.status, readable(preflight)]).toEqual([204, PAGE]);
  const metadata = await fetch(metadataOf(system), { headers: origin });
  expect([readable(metadata), metadata.headers.get("Vary")]).toEqual([PAGE, "Origin"]);

  const called = await ask("/mcp", { ...origin, ...bearer(await tokenOf(system)) });
  expect([called.status, readable(called)]).toEqual([200, PAGE]);
  const withKey = await ask("/mcp", { ...origin, "x-api-key": system.apiKey });
  expect([withKey.status, readable(withKey)]).toEqual([403, null]);
});
