import type { CreatedCredential, Credential, Runtime } from "@patchbay/protocol/console";
import { expect, test, vi } from "vitest";
import { openDesk } from "./support/console-desk.ts";
import { failureOf } from "./support/open-console.ts";

const queryWith = async (url: string, agentId: string, key: string, body: object = {}): Promise<number> => {
  const response = await fetch(`${url}/agents/${agentId}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify({ query: "Hello", ...body }),
  });
  return response.status;
};

test("a key is created with a label, roles and an expiry, and queries only as its roles", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");

  const { credential, secret } = await developer.json<CreatedCredential>("POST", `${desk.agent}/credentials`, {
    body: { kind: "api", label: "till", roles: ["agent"], expiresInDays: 30 },
  });

  expect(credential).toMatchObject({ kind: "api", label: "till", roles: ["agent"], state: "active" });
  expect(Date.parse(credential.expiresAt!) - Date.parse(credential.createdAt)).toBeCloseTo(30 * 86_400_000, -4);
  expect(await queryWith(desk.url, desk.agentId, secret, { role: "agent" })).toBe(200);
  expect(await queryWith(desk.url, desk.agentId, secret, { role: "manager" })).toBe(403);
  const { items } = await developer.json<{ items: Credential[] }>("GET", `${desk.agent}/credentials?kind=api`);
  expect(items[0]).toMatchObject({ credentialId: credential.credentialId, lastUsedAt: expect.any(String) });
  expect(JSON.stringify(items)).not.toContain(secret);
});

test.each([
  ["roles", { kind: "runtime", roles: ["agent"] }],
  ["expiresInDays", { kind: "access", expiresInDays: 1 }],
])("%s are rejected for kinds of credentials without them", async (path, body) => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");

  const response = await developer.ask("POST", `${desk.agent}/credentials`, { body });

  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code: "invalid_request", details: [{ path }] });
});

test("both secrets work during the overlap of a rotation; without overlap only the new one works", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");
  const rotate = (id: string, overlapSeconds: number) =>
    developer.json<CreatedCredential>("POST", `${desk.agent}/credentials/${id}/rotate`, { body: { overlapSeconds } });

  const second = await rotate(desk.keyId, 3_600);
  const statuses = [desk.apiKey, second.secret].map((key) => queryWith(desk.url, desk.agentId, key));
  expect(await Promise.all(statuses)).toEqual([200, 200]);
  const third = await rotate(second.credential.credentialId, 0);

  expect(await queryWith(desk.url, desk.agentId, second.secret)).toBe(401);
  expect(await queryWith(desk.url, desk.agentId, third.secret)).toBe(200);
  const { items } = await developer.json<{ items: Credential[] }>("GET", `${desk.agent}/credentials?kind=api`);
  const states = new Map(items.map((one) => [one.credentialId, [one.state, one.expiresAt !== null]]));
  expect(states.get(desk.keyId)).toEqual(["active", true]);
  expect(states.get(second.credential.credentialId)).toEqual(["revoked", false]);
  expect(states.get(third.credential.credentialId)).toEqual(["active", false]);
});

test("a key names the members who made and rotated it", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");
  const owner = await desk.member("owner");
  const path = `${desk.agent}/credentials`;
  const { credential } = await developer.json<CreatedCredential>("POST", path, { body: { kind: "runtime" } });
  expect(credential.makers).toEqual([{ id: developer.memberId, name: "developer" }]);

  const rotated = await owner.json<CreatedCredential>("POST", `${path}/${credential.credentialId}/rotate`, {
    body: { overlapSeconds: 60 },
  });

  expect(rotated.credential.makers).toEqual([
    { id: developer.memberId, name: "developer" },
    { id: owner.memberId, name: "owner" },
  ]);
  const { items } = await developer.json<{ items: Credential[] }>("GET", path);
  expect(items.find(({ credentialId }) => credentialId === desk.keyId)).not.toHaveProperty("makers");
});

test("a revoked key is rejected, cannot be rotated, and has one entry in the audit log", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");
  const path = `${desk.agent}/credentials/${desk.keyId}`;

  expect((await developer.ask("DELETE", path)).status).toBe(204);
  expect((await developer.ask("DELETE", path)).status).toBe(204);

  expect(await queryWith(desk.url, desk.agentId, desk.apiKey)).toBe(401);
  const rotated = await developer.ask("POST", `${path}/rotate`, { body: { overlapSeconds: 0 } });
  expect(await failureOf(rotated)).toEqual([409, "conflict"]);
  const { items } = await desk.admin.listAdministration(desk.orgId, { action: "key.revoked" });
  expect(items).toMatchObject([{ keyId: developer.memberId, detail: { credentialId: desk.keyId } }]);
});

test("a runtime whose key is revoked is disconnected", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");
  const runtimes = async () => (await developer.json<{ items: Runtime[] }>("GET", `${desk.agent}/runtimes`)).items;
  const { items } = await developer.json<{ items: Credential[] }>("GET", `${desk.agent}/credentials?kind=runtime`);
  expect(await runtimes()).toMatchObject([{ connected: true, sdk: expect.stringMatching(/^patchbay-functions\//) }]);

  await developer.json("DELETE", `${desk.agent}/credentials/${items[0]!.credentialId}`);

  await vi.waitFor(async () => expect(await runtimes()).toMatchObject([{ connected: false }]));
});

test("a viewer changes nothing, and ids of another agent are not found", async () => {
  await using desk = await openDesk();
  const [viewer, developer] = [await desk.member("viewer"), await desk.member("developer")];
  const other = await desk.admin.createAgent("Buyer", { orgId: desk.orgId });

  const refused = await viewer.ask("POST", `${desk.agent}/credentials`, { body: { kind: "api" } });
  const foreign = await developer.ask("DELETE", `${desk.agent}/credentials/${other.keyId}`);

  expect(await failureOf(refused)).toEqual([403, "console_role_required"]);
  expect(await failureOf(foreign)).toEqual([404, "not_found"]);
  expect(await queryWith(desk.url, other.agentId, other.apiKey)).toBe(200);
});
