import { expect, test } from "vitest";
import { AdminError, createAdmin } from "../../src/accounts/admin.ts";
import { ending, event, sampleRequest, sampleRun } from "../store/contract/world.ts";
import { openOffice, TickingClock } from "./office.ts";

test("the first agent needs no organisation: a sandbox one is made, and used again", async () => {
  await using office = await openOffice();

  const first = await office.admin.createAgent("Clerk", { instructions: "Be brief." });
  const second = await office.admin.createAgent("Buyer");

  const [org, ...others] = await office.admin.listOrgs();
  expect(org).toEqual({ orgId: first.orgId, name: "default", tier: "sandbox" });
  expect(others).toEqual([]);
  expect(second.orgId).toBe(first.orgId);
  expect(Object.keys(first).toSorted()).toEqual(["agentId", "apiKey", "keyId", "name", "orgId"]);
  expect(first).toMatchObject({
    name: "Clerk",
    agentId: expect.stringMatching(/^agt_[0-9A-Za-z]{22}$/),
    orgId: expect.stringMatching(/^org_[0-9A-Za-z]{22}$/),
    keyId: expect.stringMatching(/^key_[0-9A-Za-z]{22}$/),
  });
  expect(await office.admin.listAgents()).toMatchObject([{ instructions: "Be brief." }, { name: "Buyer" }]);
});

test("with several organisations an agent must say whose it is", async () => {
  await using office = await openOffice();
  const { orgId } = await office.admin.createOrg("A");
  await office.admin.createOrg("B", "growth");

  await expect(office.admin.createAgent("Clerk")).rejects.toThrow(/name one with --org ID/);

  expect(await office.admin.createAgent("Clerk", { orgId })).toMatchObject({ orgId });
});

test("an agent is changed and deleted, and its keys go with it", async () => {
  await using office = await openOffice();
  const { agentId, orgId } = await office.admin.createAgent("Clerk");

  expect(await office.admin.updateAgent(agentId, { name: "Buyer" })).toEqual({
    agentId,
    orgId,
    name: "Buyer",
    instructions: "",
    accessChanges: "follow",
    settings: {},
  });
  expect(await office.admin.deleteAgent(agentId)).toEqual({ agentId });

  await expect(office.admin.createKey({ agentId })).rejects.toThrow(AdminError);
  expect(await office.admin.listAgents()).toEqual([]);
});

test("a key is shown once; a list shows how to tell keys apart, never a secret or its hash", async () => {
  await using office = await openOffice();
  const { agentId, apiKey, keyId } = await office.admin.createAgent("Clerk");
  const pinned = await office.admin.createKey({ agentId, roles: ["manager", "manager", "clerk"], label: "till" });

  const listed = await office.admin.listKeys(agentId);

  expect(pinned).toEqual({
    keyId: pinned.keyId,
    agentId,
    apiKey: expect.stringMatching(/^service_live_/),
    roles: ["manager", "clerk"],
  });
  expect(listed).toMatchObject([
    { keyId, roles: null, label: null, lastUsedAt: null, revokedAt: null },
    { keyId: pinned.keyId, roles: ["manager", "clerk"], label: "till", hint: expect.stringMatching(/^.{4}….{4}$/) },
  ]);
  expect(JSON.stringify(listed)).not.toMatch(/service_live_|hash/);
  expect(JSON.stringify(await office.store.accounts.listCredentials("api", agentId))).not.toContain(apiKey);
});

test("runtime keys and access tokens are made, listed and revoked", async () => {
  await using office = await openOffice();
  const { agentId } = await office.admin.createAgent("Clerk");
  const { keyId, runtimeKey } = await office.admin.createRuntimeKey({ agentId });
  const token = await office.admin.createToken({ agentId });

  expect(runtimeKey).toMatch(/^patchbay_rt_/);
  expect(Object.keys(token).toSorted()).toEqual(["accessToken", "agentId", "expiresAt", "tokenId"]);
  expect(Date.parse(token.expiresAt)).toBeGreaterThan(Date.now() + 11.9 * 3_600_000);
  expect(await office.admin.listRuntimeKeys(agentId)).toMatchObject([{ keyId, expiresAt: null }]);
  expect(await office.admin.listTokens(agentId)).toMatchObject([
    { tokenId: token.tokenId, expiresAt: token.expiresAt },
  ]);

  expect(await office.admin.revokeRuntimeKey(keyId)).toEqual({ keyId, agentId });
  expect(await office.admin.revokeToken(token.tokenId)).toEqual({ tokenId: token.tokenId, agentId });
  expect(await office.admin.listTokens(agentId)).toMatchObject([{ revokedAt: expect.any(String) }]);
});

test("a rotated key keeps its roles, its label and its length of life, and never outlives its overlap", async () => {
  const clock = new TickingClock();
  await using office = await openOffice(clock);
  const { agentId, orgId } = await office.admin.createAgent("Clerk");
  const { credentials } = createAdmin({ store: office.store, by: "mem_1" });
  const old = await credentials.create("api", { agentId, roles: ["clerk"], label: "till", expiresInDays: 10 });
  clock.advance(9 * 86_400_000);

  const fresh = await credentials.rotate("api", old.credentialId, { overlapMs: 7 * 86_400_000 });

  expect(fresh).toMatchObject({ agentId, roles: ["clerk"], oldEndsAt: old.expiresAt });
  expect(fresh.expiresAt! - clock.now()).toBeGreaterThan(9.9 * 86_400_000);
  expect(fresh.secret).not.toBe(old.secret);
  expect((await office.store.accounts.listCredentials("api", agentId)).at(-1)).toMatchObject({
    credentialId: fresh.credentialId,
    label: "till",
    roles: ["clerk"],
  });
  const { items } = await office.admin.listAdministration(orgId, { action: "key.rotated" });
  expect(items).toMatchObject([
    {
      keyId: "mem_1",
      detail: { credentialId: old.credentialId, replacedBy: fresh.credentialId, overlapSeconds: 604800 },
    },
  ]);
});

test.each([
  ["12.5", 12.5],
  ["0.000001", 0.000001],
  ["100", 100],
  ["0.1", 0.1],
  ["999999999.999999", 999_999_999.999999],
])("granting %s USD is exact", async (amount, usd) => {
  await using office = await openOffice();
  const { orgId } = await office.admin.createOrg("A", "starter");
  expect(await office.admin.showCredits(orgId)).toEqual({ orgId, balanceUsd: 0 });

  expect(await office.admin.grant(orgId, amount)).toEqual({ orgId, balanceUsd: usd });
});

test("ten grants of ten cents are one dollar", async () => {
  await using office = await openOffice();
  const { orgId } = await office.admin.createOrg("A", "starter");

  for (let i = 0; i < 10; i++) await office.admin.grant(orgId, "0.1");

  expect((await office.admin.showCredits(orgId)).balanceUsd).toBe(1);
});

test.each(["0", "-1", "1e3", "0.0000001", "12,50", "", "NaN", "1234567890"])(
  "%j is no amount to grant, and the error shows one that is",
  async (amount) => {
    await using office = await openOffice();
    const { orgId } = await office.admin.createOrg("A", "starter");

    await expect(office.admin.grant(orgId, amount)).rejects.toThrow(/for example 12.50/);
  },
);

test("a token lasts for 12 hours of the database's clock, whatever this machine's says", async () => {
  const clock = new TickingClock();
  clock.time -= 86_400_000;
  await using office = await openOffice(clock);
  const { agentId } = await office.admin.createAgent("Clerk");
  const before = clock.time;

  const { expiresAt } = await office.admin.createToken({ agentId });

  const lasts = Date.parse(expiresAt) - 12 * 3_600_000;
  expect(lasts).toBeGreaterThanOrEqual(before);
  expect(lasts).toBeLessThanOrEqual(clock.time);
});

test("an id that does not exist is told with the command that lists those that do", async () => {
  await using office = await openOffice();
  const { admin } = office;

  await expect(admin.listKeys("agt_x")).rejects.toThrow('There is no agent agt_x. "patchbay agents list" shows');
  await expect(admin.createAgent("A", { orgId: "org_x" })).rejects.toThrow('"patchbay orgs list" shows');
  await expect(admin.showCredits("org_x")).rejects.toThrow("There is no organisation org_x");
  await expect(admin.revokeKey("key_x")).rejects.toThrow("There is no API key key_x");
  await expect(admin.revokeToken("tok_x")).rejects.toThrow("There is no access token tok_x");
  await expect(admin.showRun("run_x")).rejects.toThrow("There is no run run_x");
  await expect(admin.createOrg("A", "gold")).rejects.toThrow("choose one of sandbox, starter, growth, scale");
  await expect(admin.createOrg(" ")).rejects.toThrow("A name must not be empty");
});

test("a key cannot be pinned to no role", async () => {
  await using office = await openOffice();
  const { agentId } = await office.admin.createAgent("Clerk");

  await expect(office.admin.createKey({ agentId, roles: [] })).rejects.toThrow(AdminError);
  await expect(office.admin.createKey({ agentId, roles: ["clerk", ""] })).rejects.toThrow(AdminError);
});

test("each change stands in the audit log", async () => {
  await using office = await openOffice();
  const { agentId, keyId } = await office.admin.createAgent("Clerk");
  await office.admin.createRuntimeKey({ agentId });
  await office.admin.revokeKey(keyId);
  await office.admin.updateAgent(agentId, { instructions: "Be brief." });
  await office.admin.deleteAgent(agentId);

  const { items } = await office.admin.listAudit(agentId);

  expect(items.map(({ action }) => action)).toEqual([
    "agent.deleted",
    "agent.updated",
    "key.revoked",
    "runtime_key.created",
    "key.created",
    "agent.created",
  ]);
  expect(items[2]).toMatchObject({ keyId, agentId, at: expect.stringMatching(/Z$/) });
});

test("runs are listed and one is shown with its events", async () => {
  await using office = await openOffice();
  const { agentId, orgId } = await office.admin.createAgent("Clerk");
  const run = sampleRun({ agentId, orgId, request: sampleRequest({ role: "manager" }) });
  const started = await office.store.runs.start(run);
  if (started.kind !== "started") throw new Error(started.kind);
  await office.store.runs.commit(started.run, { events: [event(1)] });
  await office.store.runs.commit(started.run, ending({ ...started.run, lastSeq: 1 }));

  const listed = await office.admin.listRuns(agentId);
  const shown = await office.admin.showRun(run.runId);

  expect(listed.items).toMatchObject([{ runId: run.runId, status: "succeeded", role: "manager", code: null }]);
  expect(shown).toEqual({
    ...listed.items[0],
    items: [
      { type: "thought", content: "no. 1" },
      { type: "finalResponse", content: "no. 2", toolInteractions: [] },
    ],
  });
});
