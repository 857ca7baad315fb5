import { type CreatedServiceToken, type Invitation, SERVICE_SCOPES } from "@patchbay/protocol/console";
import { describe, expect, test } from "vitest";
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

test("a token that may not change the address of a webhook reads only its origin, also when it rotates the secret", async () => {
  await using office = await openOffice();
  await office.admin.setWebhook(office.agentId, "https://hooks.example/in/s3cret");
  const { ask } = await office.token("agents:write");
  const path = `/agents/${office.agentId}/webhook`;

  for (const answer of [await ask("GET", path), await ask("POST", `${path}/rotate`, { overlapSeconds: 0 })])
    expect(await answer.json()).toMatchObject({ webhook: { url: "https://hooks.example/…" } });
});
