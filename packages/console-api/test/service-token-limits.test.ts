import { type CreatedServiceToken, type Credential, type Invitation, SERVICE_SCOPES } from "@patchbay/protocol/console";
import { describe, expect, test } from "vitest";
import { openNeighbours } from "./support/neighbours.ts";
import { openOffice } from "./support/office.ts";

describe("links that a token made", () => {
  async function openLinks() {
    const office = await openOffice();
    const { orgId, admin } = office;
    const { ask, tokenId } = await office.token(...SERVICE_SCOPES);
    const invited = await ask("POST", "/members", { email: "new@example.com", role: "viewer" });
    const { member } = (await invited.json()) as Invitation;
    const pending = async () => (await admin.members.pendingLinks(orgId, { limit: 9 })).items.length;
    expect(await pending()).toBe(1);
    return { ...office, ask, tokenId, member, pending };
  }

  test("end when the member gets another role", async () => {
    await using office = await openLinks();
    await office.admin.members.changeRole(office.orgId, office.member.memberId, "owner");
    expect(await office.pending()).toBe(0);
  });

  test("end with a rotation without overlap, and otherwise when the successor is revoked", async () => {
    await using office = await openLinks();
    const { serviceTokens } = office.admin;
    const next = await serviceTokens.rotate(office.orgId, office.tokenId, { overlapMs: 60_000 });
    expect(await office.pending()).toBe(1);
    await serviceTokens.revoke(office.orgId, next.token.tokenId);
    expect(await office.pending()).toBe(0);

    await using second = await openLinks();
    await second.admin.serviceTokens.rotate(second.orgId, second.tokenId, { overlapMs: 0 });
    expect(await second.pending()).toBe(0);
  });

  test("are not made for a member who got another role after the check", async () => {
    await using office = await openLinks();
    const { members } = office.admin;
    await members.changeRole(office.orgId, office.member.memberId, "developer");
    await expect(members.link(office.orgId, office.member.memberId, "viewer")).rejects.toThrow("another role");
  });
});

test("a token that expires makes no token that outlives it", async () => {
  await using office = await openOffice();
  const { orgId, admin } = office;
  const made = await admin.serviceTokens.create({ orgId, scopes: ["service-tokens:write"], expiresInDays: 1 });
  const body = { scopes: ["service-tokens:read"] };
  const headers = { Authorization: `Bearer ${made.secret}` };

  for (const wanted of [body, { ...body, expiresInDays: 30 }]) {
    const created = await office.browser().ask("POST", "/api/service-tokens", { headers, body: wanted });
    const { token } = (await created.json()) as CreatedServiceToken;
    expect(Date.parse(token.expiresAt!)).toBe(made.token.expiresAt);
  }
});

test("a token that expires rotates none into one that outlives it, not even itself", async () => {
  await using office = await openOffice();
  const { orgId, admin } = office;
  const scopes = ["service-tokens:write"] as const;
  const made = await admin.serviceTokens.create({ orgId, scopes, expiresInDays: 1 });
  const endless = await admin.serviceTokens.create({ orgId, scopes });
  const headers = { Authorization: `Bearer ${made.secret}` };
  office.clock.advance(3_600_000);

  for (const { token } of [endless, made]) {
    const path = `/api/service-tokens/${token.tokenId}/rotate`;
    const rotated = await office.browser().ask("POST", path, { headers, body: { overlapSeconds: 60 } });
    const answer = (await rotated.json()) as CreatedServiceToken;
    expect(Date.parse(answer.token.expiresAt!)).toBe(made.token.expiresAt);
  }
});

test("a token that expires makes and rotates no key that outlives it", async () => {
  await using office = await openOffice();
  const { orgId, admin, agentId } = office;
  const made = await admin.serviceTokens.create({ orgId, scopes: [...SERVICE_SCOPES], expiresInDays: 1 });
  const headers = { Authorization: `Bearer ${made.secret}` };
  const keys = `/api/agents/${agentId}/credentials`;
  const endOf = async (path: string, body: object) => {
    const answer = (await (await office.browser().ask("POST", path, { headers, body })).json()) as {
      credential?: Credential;
      key?: { credential: Credential };
    };
    return Date.parse((answer.credential ?? answer.key!.credential).expiresAt!);
  };
  const { keyId } = await admin.createKey({ agentId });
  const { keyId: runtimeKeyId } = await admin.createRuntimeKey({ agentId });
  office.clock.advance(13 * 3_600_000);

  for (const kind of ["api", "runtime", "access"]) expect(await endOf(keys, { kind })).toBe(made.token.expiresAt);
  expect(await endOf(keys, { kind: "api", expiresInDays: 30 })).toBe(made.token.expiresAt);
  expect(await endOf("/api/agents", { name: "New" })).toBe(made.token.expiresAt);
  for (const id of [keyId, runtimeKeyId])
    expect(await endOf(`${keys}/${id}/rotate`, { overlapSeconds: 7 * 86_400 })).toBe(made.token.expiresAt);
  const replaced = (await admin.credentials.list("api", agentId)).find(({ credentialId }) => credentialId === keyId);
  expect(replaced!.expiresAt).toBe(made.token.expiresAt);
});

test("a token that may not change the address of a webhook reads only its origin, also when it rotates the secret", async () => {
  await using office = await openOffice();
  await office.admin.setWebhook(office.agentId, "https://hooks.example/in/s3cret");
  const { ask } = await office.token("agents:write");
  const path = `/agents/${office.agentId}/webhook`;

  for (const answer of [await ask("GET", path), await ask("POST", `${path}/rotate`, { overlapSeconds: 0 })])
    expect(await answer.json()).toMatchObject({ webhook: { url: "https://hooks.example/…" } });
});

test("a token with all scopes opens no route of the query API, as a key or as a token", async () => {
  await using world = await openNeighbours();
  const { plane, mine } = world;
  const { Authorization } = await world.token(SERVICE_SCOPES);
  const document = (await (await fetch(`${plane.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { security?: object[] }>>;
  };
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { security = [] }]) => (security.length > 0 ? [{ path, method }] : [])),
  );
  const opened: string[] = [];

  for (const { path, method } of routes) {
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, id: string) => (mine as Record<string, string>)[id] ?? "chat-1");
    for (const header of [{ Authorization }, { "X-API-Key": Authorization.replace("Bearer ", "") }]) {
      const request = { method: method.toUpperCase(), headers: { ...header, "Content-Type": "application/json" } };
      const body = method === "post" ? { body: JSON.stringify({ query: "Hi" }) } : {};
      const { status } = await fetch(`${plane.url}${filled}`, { ...request, ...body });
      if (status !== 401) opened.push(`${method} ${path} ${status} ${Object.keys(header)[0]}`);
    }
  }

  expect(routes.length).toBeGreaterThan(20);
  expect(opened).toEqual([]);
});
