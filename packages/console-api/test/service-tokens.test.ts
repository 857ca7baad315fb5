import {
  CONSOLE_ROUTES,
  type ConsoleRoute,
  type CreatedCredential,
  type CreatedServiceToken,
  SERVICE_SCOPES,
  type ServiceScope,
} from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { failureOf } from "./support/open-console.ts";
import { openOffice } from "./support/office.ts";
import { everythingOf, openNeighbours } from "./support/neighbours.ts";

const ROUTES = Object.entries(CONSOLE_ROUTES) as [string, ConsoleRoute][];

/** The routes of each scope. A route that a change adds here gets into the hands of programs. */
const OF_SCOPE: Record<ServiceScope, string[]> = {
  "agents:read": [
    "GET /agents",
    "GET /agents/:agent_id",
    "GET /agents/:agent_id/access",
    "GET /agents/:agent_id/access/changes",
    "GET /agents/:agent_id/access/locks",
    "GET /agents/:agent_id/access/model-view",
    "GET /agents/:agent_id/access/services",
    "GET /agents/:agent_id/access/widenings",
    "GET /agents/:agent_id/function-sets",
    "GET /agents/:agent_id/functions",
    "GET /agents/:agent_id/runtimes",
    "GET /agents/:agent_id/webhook",
    "GET /models",
    "POST /agents/:agent_id/access/lock-changes",
  ],
  "agents:write": [
    "DELETE /agents/:agent_id",
    "DELETE /agents/:agent_id/webhook",
    "PATCH /agents/:agent_id",
    "POST /agents/:agent_id/access/confirmations",
    "POST /agents/:agent_id/webhook/deliveries/:delivery_id/resend",
    "POST /agents/:agent_id/webhook/rotate",
    "POST /agents/:agent_id/webhook/test",
  ],
  "keys:read": ["GET /agents/:agent_id/credentials"],
  "keys:write": [
    "DELETE /agents/:agent_id/credentials/:credential_id",
    "POST /agents/:agent_id/credentials",
    "POST /agents/:agent_id/credentials/:credential_id/rotate",
  ],
  "runtime-keys:read": ["GET /agents/:agent_id/credentials"],
  "runtime-keys:write": [
    "DELETE /agents/:agent_id/credentials/:credential_id",
    "POST /agents/:agent_id/credentials",
    "POST /agents/:agent_id/credentials/:credential_id/rotate",
  ],
  "members:read": ["GET /links", "GET /members"],
  "members:write": [
    "DELETE /members/:member_id",
    "DELETE /members/:member_id/link",
    "PATCH /members/:member_id",
    "PATCH /organisation",
    "POST /members",
    "POST /members/:member_id/link",
  ],
  "credits:read": ["GET /credits", "GET /credits/ledger", "GET /organisation"],
  "audit:read": ["GET /audit", "GET /audit/export", "POST /agents/:agent_id/access/evidence"],
  "calls:read": ["GET /agents/:agent_id/calls"],
  "calls:content": [],
  "approvals:read": ["GET /approvals"],
  "approvals:write": ["POST /agents/:agent_id/approvals/:approval_id/decision"],
  "service-tokens:read": ["GET /service-tokens"],
  "service-tokens:write": [
    "DELETE /service-tokens/:token_id",
    "POST /service-tokens",
    "POST /service-tokens/:token_id/rotate",
  ],
};

const isPublic = ({ needs }: ConsoleRoute): boolean => needs === "public";

test.each(SERVICE_SCOPES)("a token with only %s opens its routes, and changes nothing by the others", async (scope) => {
  await using world = await openNeighbours();
  const { mine, theirs, plane } = world;
  const token = await world.token([scope]);
  const permitted = [...OF_SCOPE[scope], ...OF_SCOPE[scope.replace(":write", ":read") as ServiceScope]];
  const before = JSON.stringify([await everythingOf(plane, mine), await everythingOf(plane, theirs)]);
  const findings: unknown[] = [];

  for (const [name, route] of ROUTES.filter(([, one]) => !isPublic(one))) {
    const isPermitted = permitted.includes(name);
    if (isPermitted && !name.includes(":") && !name.startsWith("GET")) continue;
    // What it may do, it tries on the other organisation.
    const answer = await world.ask(name, isPermitted ? theirs : mine, token);
    const expected = isPermitted ? (name.includes(":") ? 404 : 200) : 403;
    if (answer.status !== expected) findings.push([name, answer.status, route.needs]);
    const text = await answer.text();
    if (expected === 403 && !text.includes('"code":"scope_required"')) findings.push([name, text]);
  }

  expect(findings).toEqual([]);
  expect(JSON.stringify([await everythingOf(plane, mine), await everythingOf(plane, theirs)])).toBe(before);
});

/** A console with an agent, and requests with a service token of these scopes. */
test("an owner creates a token; a program creates an agent with it, and the audit log names the token", async () => {
  await using office = await openOffice();
  const { browser } = await office.member("owner");
  const body = { scopes: ["keys:write", "agents:write", "audit:read"], label: "terraform", expiresInDays: 30 };
  const created = await browser.ask("POST", "/api/service-tokens", { body });
  const { token, secret } = (await created.json()) as CreatedServiceToken;
  expect(created.status).toBe(201);
  expect(token).toMatchObject({ label: "terraform", scopes: ["agents:write", "keys:write", "audit:read"] });
  expect(secret).toMatch(/^service_admin_[0-9A-Za-z]{36}$/);

  const headers = { Authorization: `Bearer ${secret}` };
  const made = await office.browser().ask("POST", "/api/agents", { headers, body: { name: "Shop" } });

  expect(made.status).toBe(201);
  const audit = await office.browser().ask("GET", "/api/audit?action=agent", { headers });
  const { items } = (await audit.json()) as { items: object[] };
  expect(items[0]).toMatchObject({ keyId: token.tokenId, keyLabel: "terraform", member: null });
  expect(items[0]).toHaveProperty("sentence", "Service token terraform created agent Shop.");
  const list = await (await browser.ask("GET", "/api/service-tokens")).text();
  expect(list).toContain(token.tokenId);
  expect(list).not.toContain(secret);
});

test("a token sets and clears the days for which runs of an agent are kept", async () => {
  await using office = await openOffice();
  const { ask } = await office.token("agents:write");
  const change = async (retentionDays: number | null) => {
    const answer = await ask("PATCH", `/agents/${office.agentId}`, { settings: { retentionDays } });
    const { settings, code } = (await answer.json()) as { settings?: object; code?: string };
    return settings ?? code;
  };

  expect(await change(7)).toEqual({ retentionDays: 7 });
  expect(await change(0)).toBe("invalid_request");
  expect(await change(null)).toEqual({});
});

test("a revoked, an expired, a rotated and a mistyped token are rejected", async () => {
  await using office = await openOffice();
  const { serviceTokens } = office.admin;
  const [revoked, rotated] = [await office.token("agents:read"), await office.token("agents:read")];
  const { secret } = await serviceTokens.create({ orgId: office.orgId, scopes: ["agents:read"], expiresInDays: 1 });
  const status = async (secret: string) => {
    const headers = { Authorization: `Bearer ${secret}` };
    return (await office.browser().ask("GET", "/api/agents", { headers })).status;
  };
  expect(await Promise.all([revoked.secret, rotated.secret, secret].map(status))).toEqual([200, 200, 200]);

  await serviceTokens.revoke(office.orgId, revoked.tokenId);
  const next = await serviceTokens.rotate(office.orgId, rotated.tokenId, { overlapMs: 0 });
  office.clock.advance(86_400_000);

  expect(await Promise.all([revoked.secret, rotated.secret, secret].map(status))).toEqual([401, 401, 401]);
  expect(await status(next.secret)).toBe(200);
  expect(await status(`${next.secret.slice(0, -1)}!`)).toBe(401);
});

test("a token counts before a session, works on no page of sign-in, and nothing else works in its place", async () => {
  await using office = await openOffice();
  const { browser, cookie } = await office.member("owner");
  const { ask, secret } = await office.token("agents:read");

  expect(await failureOf(await ask("GET", "/members", undefined, { Cookie: cookie }))).toEqual([403, "scope_required"]);
  expect(await failureOf(await ask("GET", "/session"))).toEqual([403, "scope_required"]);
  expect(await failureOf(await ask("POST", "/session", { email: "a@example.com", password: "x" }))).toEqual([
    403,
    "csrf_refused",
  ]);
  const headers = { "X-API-Key": secret, "Sec-Fetch-Site": "none" };
  expect((await office.browser().ask("GET", "/api/agents", { headers })).status).toBe(401);
  // Another credential in the header changes nothing for a session, as before.
  expect((await browser.ask("GET", "/api/agents", { headers: { Authorization: "Basic eDp5" } })).status).toBe(200);
});

test.each<[ServiceScope[], string, object, number]>([
  [["keys:write"], "api", {}, 201],
  [["keys:write"], "access", {}, 201],
  [["keys:write"], "runtime", {}, 403],
  [["runtime-keys:write"], "runtime", {}, 201],
  [["runtime-keys:write"], "api", {}, 403],
  [["keys:write"], "api", { can: ["approve"] }, 403],
  [["keys:write", "approvals:read"], "api", { can: ["approve"] }, 403],
  [["keys:write", "approvals:write"], "api", { can: ["approve"] }, 201],
])("a token with %s gets for a new %s credential %o the status %i, and the same for its rotation", async (...row) => {
  const [scopes, kind, more, status] = row;
  await using office = await openOffice();
  const { ask } = await office.token(...scopes);
  const path = `/agents/${office.agentId}/credentials`;
  const options = { agentId: office.agentId, ...(more as { can?: ["approve"] }) };
  const own = await office.admin.credentials.create(kind as "api", options);

  const created = await ask("POST", path, { kind, ...more });
  const rotated = await ask("POST", `${path}/${own.credentialId}/rotate`, { overlapSeconds: 0 });

  expect([created.status, rotated.status]).toEqual([status, status]);
  if (status === 201) expect(((await rotated.json()) as CreatedCredential).secret).not.toBe(own.secret);
});

test("a list of credentials has the kinds that the token may read", async () => {
  await using office = await openOffice();
  await office.admin.credentials.create("runtime", { agentId: office.agentId });
  await office.admin.credentials.create("access", { agentId: office.agentId });
  const kinds = async (scope: ServiceScope, query = "") => {
    const { ask } = await office.token(scope);
    const answer = await ask("GET", `/agents/${office.agentId}/credentials${query}`);
    const { items, code } = (await answer.json()) as { items?: { kind: string }[]; code?: string };
    return items?.map(({ kind }) => kind).toSorted() ?? code;
  };

  expect(await kinds("keys:read")).toEqual(["access", "api"]);
  expect(await kinds("runtime-keys:write")).toEqual(["runtime"]);
  expect(await kinds("keys:write", "?kind=runtime")).toBe("scope_required");
});

test("a token gives out only scopes that it has, also when it replaces another token", async () => {
  await using office = await openOffice();
  const { ask, tokenId } = await office.token("service-tokens:write", "agents:write");
  const strong = await office.token("service-tokens:write", "keys:read");
  const weak = await office.token("agents:read");
  const create = (scopes: string[]) => ask("POST", "/service-tokens", { scopes });
  const rotate = (id: string) => ask("POST", `/service-tokens/${id}/rotate`, { overlapSeconds: 60 });

  const statuses = [
    (await create(["agents:read", "agents:write", "service-tokens:read"])).status,
    (await create(["agents:read", "audit:read"])).status,
    (await create(["keys:write"])).status,
    (await rotate(weak.tokenId)).status,
    (await rotate(tokenId)).status,
    (await rotate(strong.tokenId)).status,
  ];

  expect(statuses).toEqual([201, 403, 403, 201, 201, 403]);
  expect((await strong.ask("GET", "/service-tokens")).status).toBe(200);
});

test("a token manages members only when it has the scopes of their role", async () => {
  await using office = await openOffice();
  const owner = await office.member("owner");
  const developer = await office.member("developer");
  const viewer = await office.member("viewer");
  // Tokens from before the scope for calls manage members, too.
  const others: readonly string[] = ["service-tokens:read", "calls:read"];
  const reads = SERVICE_SCOPES.filter((scope) => scope.endsWith(":read") && !others.includes(scope));
  const tries = async (scopes: readonly ServiceScope[]) => {
    const { ask, tokenId } = await office.token(...scopes);
    const invite = async (role: string) => {
      const email = `${role}-${tokenId}@example.com`;
      return (await ask("POST", "/members", { email, role })).status;
    };
    const link = async ({ memberId }: { memberId: string }) => (await ask("POST", `/members/${memberId}/link`)).status;
    const promote = await ask("PATCH", `/members/${viewer.memberId}`, { role: "owner" });
    const demote = await ask("PATCH", `/members/${owner.memberId}`, { role: "viewer" });
    return {
      invite: [await invite("viewer"), await invite("developer"), await invite("owner")],
      link: [await link(viewer), await link(developer), await link(owner)],
      change: [promote.status, demote.status],
      remove: (await ask("DELETE", `/members/${owner.memberId}`)).status,
    };
  };
  const refused = { change: [403, 403], remove: 403 };

  expect(await tries(["members:write"])).toEqual({ invite: [403, 403, 403], link: [403, 403, 403], ...refused });
  expect(await tries(["members:write", ...reads])).toEqual({
    invite: [201, 403, 403],
    link: [200, 403, 403],
    ...refused,
  });
  const writes = ["agents:write", "keys:write", "runtime-keys:write", "approvals:write"] as const;
  expect(await tries(["members:write", ...reads, ...writes])).toEqual({
    invite: [201, 201, 403],
    link: [200, 200, 403],
    ...refused,
  });
  expect(await tries(SERVICE_SCOPES)).toMatchObject({
    invite: [201, 201, 201],
    link: [200, 200, 200],
    change: [200, 200],
  });
});

test.each(["viewer", "developer"] as const)("a %s neither reads nor changes service tokens", async (role) => {
  await using office = await openOffice();
  const { browser } = await office.member(role);
  const { tokenId } = await office.token("agents:read");
  const refusals = [
    await browser.ask("GET", "/api/service-tokens"),
    await browser.ask("POST", "/api/service-tokens", { body: { scopes: ["agents:read"] } }),
    await browser.ask("POST", `/api/service-tokens/${tokenId}/rotate`, { body: { overlapSeconds: 0 } }),
    await browser.ask("DELETE", `/api/service-tokens/${tokenId}`),
  ];
  for (const refusal of refusals) expect(await failureOf(refusal)).toEqual([403, "console_role_required"]);
});
