import { expect, test } from "vitest";
import { createAdmin } from "@patchbay/server/accounts/admin";
import { generateSecret } from "@patchbay/server/accounts/secret";
import { createPasswords } from "@patchbay/console-api/account/passwords";
import { asStranger } from "@patchbay/engine/ports/fair-queue";
import { type FirstStart, setUpAtFirstStart } from "../../src/start/first-start.ts";
import { openStore } from "@patchbay/store/open";
import { postgresPlace } from "../../../store/test/postgres-place.ts";

const ALL = {
  org: "Acme",
  agent: "Shop",
  agentId: "agt_shop",
  apiKey: generateSecret("api"),
  runtimeKey: generateSecret("runtime"),
  ownerEmail: "Ann@example.com",
  ownerPassword: "correct horse battery",
  serviceToken: generateSecret("service"),
} satisfies FirstStart;

async function openEmpty(url = "sqlite::memory:") {
  const store = await openStore(url);
  const admin = createAdmin({ store });
  return {
    store,
    admin,
    start: (first: FirstStart) => setUpAtFirstStart(store, first),
    /** Everything that a first start can add, by how many there are. */
    async counts() {
      const orgs = await admin.listOrgs();
      const agents = await admin.listAgents();
      const keys = await Promise.all(
        agents.flatMap(({ agentId }) => [
          admin.credentials.list("api", agentId),
          admin.credentials.list("runtime", agentId),
        ]),
      );
      const ofOrgs = await Promise.all(
        orgs.map(async ({ orgId }) => ({
          members: (await admin.members.list(orgId)).items.length,
          tokens: (await admin.serviceTokens.list(orgId, { limit: 9 })).items.length,
        })),
      );
      return { orgs: orgs.length, agents: agents.length, keys: keys.flat().length, ofOrgs };
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

const EACH_ONCE = { orgs: 1, agents: 1, keys: 2, ofOrgs: [{ members: 1, tokens: 1 }] };

test("a first start adds everything once, and later starts nothing", async () => {
  await using empty = await openEmpty();

  await empty.start(ALL);
  await empty.start(ALL);

  expect(await empty.counts()).toEqual(EACH_ONCE);
  const [org] = await empty.admin.listOrgs();
  expect(org).toMatchObject({ name: "Acme", tier: "sandbox" });
  expect(await empty.admin.listAgents()).toMatchObject([{ agentId: "agt_shop", name: "Shop", orgId: org!.orgId }]);
  const owner = await empty.store.members.byEmail("ann@example.com");
  expect(owner).toMatchObject({ role: "owner" });
  expect(await createPasswords().verify(ALL.ownerPassword, owner?.passwordHash, asStranger("test"))).toBe(true);
  const { items } = await empty.store.audit.list({ orgId: org!.orgId, limit: 20 });
  expect(items.map(({ action }) => action).toSorted()).toEqual([
    "agent.created",
    "key.created",
    "member.joined",
    "org.created",
    "runtime_key.created",
    "service_token.created",
  ]);
  const stored = JSON.stringify(await empty.store.firstStart.recorded());
  for (const secret of [ALL.apiKey, ALL.runtimeKey, ALL.serviceToken, ALL.ownerPassword])
    expect(stored).not.toContain(secret);
});

test("replicas that start at the same time add everything once", async () => {
  await using place = await postgresPlace();
  await using first = await openEmpty(place.database.url);
  await using second = await openEmpty(place.database.url);

  await Promise.all([first, second, first, second].map((replica) => replica.start(ALL)));

  expect(await first.counts()).toEqual(EACH_ONCE);
});

test.each<[keyof FirstStart, string, string]>([
  ["org", "Other", "PATCHBAY_INIT_ORG"],
  ["agent", "Other", "PATCHBAY_INIT_AGENT"],
  ["agentId", "agt_other", "PATCHBAY_INIT_AGENT_ID"],
  ["apiKey", generateSecret("api"), "PATCHBAY_INIT_API_KEY"],
  ["runtimeKey", generateSecret("runtime"), "PATCHBAY_INIT_RUNTIME_KEY"],
  ["ownerEmail", "bob@example.com", "PATCHBAY_INIT_OWNER_EMAIL"],
  ["ownerPassword", "another password", "PATCHBAY_INIT_OWNER_PASSWORD"],
  ["serviceToken", generateSecret("service"), "PATCHBAY_INIT_SERVICE_TOKEN"],
])("a later start with another %s is refused and adds nothing", async (name, value, variable) => {
  await using empty = await openEmpty();
  await empty.start(ALL);

  await expect(empty.start({ ...ALL, [name]: value })).rejects.toThrow(
    `${variable} differs from the value at the first start`,
  );

  expect(await empty.counts()).toEqual(EACH_ONCE);
});

test("later starts leave what was renamed, revoked or deleted, and add values that are new", async () => {
  await using empty = await openEmpty();
  const { admin } = empty;
  const { serviceToken, runtimeKey, ...before } = ALL;
  await empty.start(before);
  const { orgId } = (await admin.listOrgs())[0]!;
  await admin.renameOrg(orgId, "Acme Ltd");
  await admin.updateAgent("agt_shop", { name: "Store" });
  const [key] = await admin.credentials.list("api", "agt_shop");
  await admin.credentials.revoke("api", key!.credentialId);

  await empty.start({ ...before, serviceToken, runtimeKey });

  expect(await empty.counts()).toEqual(EACH_ONCE);
  expect(await admin.credentials.list("api", "agt_shop")).toMatchObject([{ revokedAt: expect.any(Number) }]);
  expect(await admin.credentials.list("runtime", "agt_shop")).toHaveLength(1);
  await admin.deleteAgent("agt_shop");
  await empty.start(ALL);
  expect(await admin.listAgents()).toEqual([]);
});

test("a key that is added later for a deleted agent is refused", async () => {
  await using empty = await openEmpty();
  const { apiKey, ...before } = ALL;
  await empty.start(before);
  await empty.admin.deleteAgent("agt_shop");

  await expect(empty.start({ ...before, apiKey })).rejects.toThrow("the agent agt_shop was deleted");
});

test("a first start takes over what a command has made by the same names and secrets", async () => {
  await using empty = await openEmpty();
  const { admin } = empty;
  const { orgId } = await admin.createOrg("Acme", "growth");
  const { agentId, apiKey } = await admin.createAgent("Shop", { orgId });

  await empty.start({ org: "Acme", agent: "Shop", apiKey });

  expect(await empty.counts()).toMatchObject({ orgs: 1, agents: 1, keys: 1 });
  await expect(empty.start({ org: "Acme", agent: "Shop", agentId: "agt_1" })).rejects.toThrow("PATCHBAY_INIT_AGENT_ID");
  await empty.start({ org: "Acme", agent: "Shop", agentId });
});

test("a database that contradicts a value is refused and stays as it is", async () => {
  await using empty = await openEmpty();
  const { admin } = empty;
  const { orgId } = await admin.createOrg("Other");
  const { apiKey, agentId } = await admin.createAgent("Desk", { orgId });
  const before = await empty.counts();
  const refused = (first: FirstStart) =>
    expect(empty.start(first)).rejects.toThrow(/does not agree with the database: .+/);

  await refused({ org: "Acme" });
  await refused({ org: "Other", agent: "Shop", apiKey });
  await refused({ org: "Other", agent: "Shop", agentId });
  await admin.members.invite({ orgId, email: "ann@example.com", role: "owner" });
  await refused({ org: "Other", ownerEmail: "ann@example.com", ownerPassword: ALL.ownerPassword });

  expect(await empty.counts()).toEqual({ ...before, ofOrgs: [{ members: 1, tokens: 0 }] });
  expect(await empty.store.firstStart.recorded()).toEqual({});
});

test("a key or a token that is revoked, or of another organisation, is refused", async () => {
  await using empty = await openEmpty();
  const { admin } = empty;
  const { orgId } = await admin.createOrg("Acme");
  const { apiKey, keyId } = await admin.createAgent("Shop", { orgId });
  await admin.credentials.revoke("api", keyId);
  const other = await admin.createOrg("Other");
  const [revoked, foreign] = [
    await admin.serviceTokens.create({ orgId, scopes: ["audit:read"] }),
    await admin.serviceTokens.create({ orgId: other.orgId, scopes: ["audit:read"] }),
  ];
  await admin.serviceTokens.revoke(orgId, revoked.token.tokenId);

  for (const [first, variable] of [
    [{ agent: "Shop", apiKey }, "PATCHBAY_INIT_API_KEY"],
    [{ serviceToken: revoked.secret }, "PATCHBAY_INIT_SERVICE_TOKEN"],
    [{ serviceToken: foreign.secret }, "PATCHBAY_INIT_SERVICE_TOKEN"],
  ] as const)
    await expect(empty.start({ org: "Acme", ...first })).rejects.toThrow(
      new RegExp(`^${variable} does not agree with the database: .*revoked`),
    );
  expect(await empty.store.firstStart.recorded()).toEqual({});
});

test.each<[FirstStart, string]>([
  [{ agent: "Shop" }, "PATCHBAY_INIT_AGENT needs PATCHBAY_INIT_ORG"],
  [{ org: "Acme", apiKey: ALL.apiKey }, "PATCHBAY_INIT_API_KEY needs PATCHBAY_INIT_AGENT"],
  [{ org: "Acme", ownerEmail: "a@example.com" }, "PATCHBAY_INIT_OWNER_EMAIL needs PATCHBAY_INIT_OWNER_PASSWORD"],
  [{ ...ALL, ownerPassword: "short" }, "PATCHBAY_INIT_OWNER_PASSWORD has 5 characters"],
  [{ ...ALL, ownerEmail: "ann" }, "PATCHBAY_INIT_OWNER_EMAIL is"],
  // The form of the sign-in page would refuse it.
  [{ ...ALL, ownerEmail: "owner@10.0.0.1" }, "PATCHBAY_INIT_OWNER_EMAIL is"],
  [{ ...ALL, apiKey: ALL.runtimeKey }, "PATCHBAY_INIT_API_KEY is not an API key. `patchbay generate api-key`"],
  [{ ...ALL, serviceToken: `${ALL.serviceToken}x` }, "PATCHBAY_INIT_SERVICE_TOKEN is not a service token"],
  [{ ...ALL, agentId: "shop" }, "PATCHBAY_INIT_AGENT_ID is"],
])("values that could not be used are refused before anything is stored: %#", async (first, message) => {
  await using empty = await openEmpty();
  await expect(empty.start(first)).rejects.toThrow(message);
  expect(await empty.counts()).toMatchObject({ orgs: 0 });
});
