import { expect, test } from "vitest";
import { createAdmin } from "../../src/accounts/admin.ts";
import { AdminError } from "../../src/accounts/admin-error.ts";
import { ending, event, sampleRequest, sampleRun, sampleTurn } from "../../../store/test/contract/world.ts";
import { openOffice, TickingClock } from "./office.ts";

test("the first agent creates a sandbox organisation, which the next one uses", async () => {
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

test("with several organisations, creating an agent requires one", async () => {
  await using office = await openOffice();
  const { orgId } = await office.admin.createOrg("A");
  await office.admin.createOrg("B", "growth");

  await expect(office.admin.createAgent("Clerk")).rejects.toThrow(/Name one with --org ID/);

  expect(await office.admin.createAgent("Clerk", { orgId })).toMatchObject({ orgId });
});

test("an agent is changed and deleted, and its keys end with it", async () => {
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

test("the secret of a key is only in the answer that creates it; a list has a hint and no hash", async () => {
  await using office = await openOffice();
  const { agentId, apiKey, keyId } = await office.admin.createAgent("Clerk");
  const pinned = await office.admin.createKey({ agentId, roles: ["manager", "manager", "clerk"], label: "till" });

  const listed = await office.admin.credentials.list("api", agentId);

  expect(pinned).toEqual({
    keyId: pinned.keyId,
    agentId,
    apiKey: expect.stringMatching(/^service_live_/),
    roles: ["manager", "clerk"],
  });
  expect(listed).toMatchObject([
    { credentialId: keyId },
    {
      credentialId: pinned.keyId,
      roles: ["manager", "clerk"],
      label: "till",
      hint: expect.stringMatching(/^.{4}….{4}$/),
    },
  ]);
  expect(JSON.stringify(listed)).not.toMatch(/service_live_/);
  expect(JSON.stringify(listed)).not.toContain(apiKey);
  expect(listed[0]).not.toHaveProperty("hash");
});

test("runtime keys and access tokens are created, listed and revoked", async () => {
  await using office = await openOffice();
  const { agentId } = await office.admin.createAgent("Clerk");
  const { keyId, runtimeKey } = await office.admin.createRuntimeKey({ agentId });
  const token = await office.admin.createToken({ agentId });

  expect(runtimeKey).toMatch(/^patchbay_rt_/);
  expect(Object.keys(token).toSorted()).toEqual(["accessToken", "agentId", "expiresAt", "tokenId"]);
  expect(Date.parse(token.expiresAt)).toBeGreaterThan(Date.now() + 11.9 * 3_600_000);
  const { credentials } = office.admin;
  const [stored] = await credentials.list("runtime", agentId);
  expect([stored?.credentialId, stored?.expiresAt]).toEqual([keyId, undefined]);
  expect(await credentials.list("access", agentId)).toMatchObject([
    { credentialId: token.tokenId, expiresAt: Date.parse(token.expiresAt) },
  ]);

  expect(await credentials.revoke("runtime", keyId)).toBe(agentId);
  expect(await credentials.revoke("access", token.tokenId)).toBe(agentId);
  expect(await credentials.list("access", agentId)).toMatchObject([{ revokedAt: expect.any(Number) }]);
});

test("a rotated key keeps its roles, label and lifetime, and the old one ends with the overlap", async () => {
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
  "%j cannot be granted; the error shows a valid amount",
  async (amount) => {
    await using office = await openOffice();
    const { orgId } = await office.admin.createOrg("A", "starter");

    await expect(office.admin.grant(orgId, amount)).rejects.toThrow(/for example 12.50/);
  },
);

test("a token lasts for 12 hours by the database's clock", async () => {
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

test("an unknown id is reported with the command that lists the known ones", async () => {
  await using office = await openOffice();
  const { admin } = office;

  await expect(admin.credentials.list("api", "agt_x")).rejects.toThrow(
    'There is no agent agt_x. Run "patchbay agents list"',
  );
  await expect(admin.createAgent("A", { orgId: "org_x" })).rejects.toThrow('Run "patchbay orgs list"');
  await expect(admin.showCredits("org_x")).rejects.toThrow("There is no organisation org_x");
  await expect(admin.credentials.revoke("api", "key_x")).rejects.toThrow("There is no API key key_x");
  await expect(admin.credentials.revoke("access", "tok_x")).rejects.toThrow("There is no access token tok_x");
  await expect(admin.showRun("run_x")).rejects.toThrow("There is no run run_x");
  await expect(admin.createOrg("A", "gold")).rejects.toThrow("Choose one of sandbox, starter, growth, scale");
  await expect(admin.createOrg(" ")).rejects.toThrow("A name must not be empty");
});

test("a role list needs at least one role", async () => {
  await using office = await openOffice();
  const { agentId } = await office.admin.createAgent("Clerk");

  await expect(office.admin.createKey({ agentId, roles: [] })).rejects.toThrow(AdminError);
  await expect(office.admin.createKey({ agentId, roles: ["clerk", ""] })).rejects.toThrow(AdminError);
});

test("each change is written to the audit log", async () => {
  await using office = await openOffice();
  const { agentId, keyId } = await office.admin.createAgent("Clerk");
  await office.admin.createRuntimeKey({ agentId });
  await office.admin.credentials.revoke("api", keyId);
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
  await office.store.runs.commit(started.run, { events: [event(1)], turn: sampleTurn(0, { costMicros: 1_200 }) });
  await office.store.runs.commit(started.run, ending({ ...started.run, lastSeq: 1 }));

  const listed = await office.admin.listRuns(agentId);
  const shown = await office.admin.showRun(run.runId);

  expect(listed.items).toMatchObject([{ runId: run.runId, status: "succeeded", role: "manager", code: null }]);
  expect(listed.items).toMatchObject([{ query: run.request.query, costUsd: 0.0012, durationMs: expect.any(Number) }]);
  expect(shown).toEqual({
    ...listed.items[0],
    items: [
      { type: "thought", content: "no. 1" },
      { type: "finalResponse", response: "no. 2", toolInteractions: [] },
    ],
  });
});
