import { Client } from "pg";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { LeaseLost } from "@patchbay/engine/ports/store/run-store";
import { openStore } from "../src/open.ts";
import { consoleOf, event, sampleRun } from "./contract/world.ts";
import { postgresPlace } from "./postgres-place.ts";
import { openTenants } from "./postgres-tenants.ts";

const FORBIDDEN = /row-level security policy/;

test("every table has row-level security that also binds its owner", async () => {
  await using place = await openTenants();
  const open = await place.database.query(`
    select relname::text from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname not like 'kysely%'
      and not (relrowsecurity and relforcerowsecurity
        and exists (select from pg_policy where polrelid = pg_class.oid and polcmd = '*' and 0 = any(polroles)))`);

  expect(open).toEqual([]);
  expect(place.tables.length).toBeGreaterThanOrEqual(16);
});

test("an organisation sees its own rows of every table, and no others", async () => {
  await using place = await openTenants();
  const read = async (table: string) =>
    (await sql<object>`select to_jsonb(${sql.ref(table)}) as row from ${sql.table(table)}`.execute(place.db)).rows.map(
      (row) => JSON.stringify(row),
    );

  for (const table of place.tables) {
    const [ofAll, ofA, ofB] = [
      await read(table),
      await place.within("org_a", () => read(table)),
      await place.within("org_b", () => read(table)),
    ];
    expect([table, ofA.length > 0, ofB.length > 0]).toEqual([table, true, true]);
    expect(ofA.filter((row) => ofB.includes(row))).toEqual([]);
    expect([...ofA, ...ofB].toSorted()).toEqual(ofAll.toSorted());
    expect(ofA.filter((row) => /(org|agt)_b/.test(row))).toEqual([]);
  }
});

test("no organisation sees the address of the service", async () => {
  await using place = await openTenants();
  await place.store.recordAddress("https://desk.example");

  expect(await place.store.address()).toBe("https://desk.example");
  expect(await place.within("org_a", () => sql`select * from service`.execute(place.db))).toMatchObject({ rows: [] });
});

test("an organisation reads until when lists are complete, and does not change it", async () => {
  await using place = await openTenants();
  await place.store.index.catchUp();
  const read = sql<{ name: string }>`select name from upkeep`;

  expect((await place.within("org_a", () => read.execute(place.db))).rows).toEqual([{ name: "index" }]);
  const written = place.within("org_a", () => sql`update upkeep set until = 1`.execute(place.db));
  expect((await written).numAffectedRows).toBe(0n);
});

test("an organisation writes no row of another into any table", async () => {
  await using place = await openTenants();

  for (const table of place.tables) {
    const { b } = place;
    const [row] = await place.database.query(`select to_jsonb(t)::text as row from ${table} t
      where to_jsonb(t)->>'org_id' = '${b.orgId}' or to_jsonb(t)->>'agent_id' = '${b.agentId}' or to_jsonb(t)->>'id' = '${b.orgId}'`);
    const copy = sql`insert into ${sql.table(table)} select * from jsonb_populate_record(null::${sql.table(table)}, ${row?.["row"]}::jsonb)`;
    await expect(
      place.within("org_a", () => copy.execute(place.db)),
      table,
    ).rejects.toThrow(FORBIDDEN);
  }
  await expect(place.within("org_a", () => sql`update threads set org_id = 'org_b'`.execute(place.db))).rejects.toThrow(
    FORBIDDEN,
  );
});

test("no method of the store finds anything by another organisation's ids", async () => {
  await using place = await openTenants();
  const { store, a, b } = place;
  const { accounts, runs, calls, threads, runtimes, audit } = store;
  const { members, signIn, webhooks } = store;
  const { organisations } = consoleOf(store);
  const lease = { owner: "replica-x", leaseMs: 1000, limit: 10 };
  const found = await store.within(a.orgId, async () => ({
    getOrg: await accounts.getOrg(b.orgId),
    listOrgs: (await accounts.listOrgs()).filter(({ orgId }) => orgId === b.orgId)[0],
    listAgents: (await accounts.listAgents(b.orgId))[0],
    getAgent: await accounts.getAgent(b.agentId),
    agentWithBalance: await accounts.agentWithBalance(b.agentId),
    updateAgent: (await accounts.updateAgent(b.agentId, { name: "x" })) || undefined,
    deleteAgent: (await accounts.deleteAgent(b.agentId)) || undefined,
    findCredential: await accounts.findCredential("api", b.hash),
    listCredentials: (await accounts.listCredentials("api", b.agentId))[0],
    revokeCredential: await accounts.revokeCredential("api", b.keyId),
    validCredentials: [...(await accounts.validCredentials([b.keyId]))][0],
    touchCredential: await accounts.touchCredential(b.keyId),
    balance: (await accounts.balance(b.orgId)) || undefined,
    claim: (await runs.claim({ ...lease, runId: b.runId }))[0],
    claimSuspects: (await runs.claimSuspects(lease)).runs[0],
    clearSuspects: await runs.clearSuspects("replica-a", [b.runId]),
    claimExpired: (await runs.claimExpired(lease))[0],
    waiting: (await runs.waiting())[0],
    endLeases: await runs.endLeases({ owner: "replica-b", working: [] }),
    renew: (await runs.renew("replica-a", [b.runId], 1))[0],
    release: await runs.release("replica-a", [b.runId]),
    requestCancel: await runs.requestCancel(b.agentId, b.runId),
    getRun: await runs.get(b.agentId, b.runId),
    findByIdempotencyKey: await runs.findByIdempotencyKey(b, "k1"),
    events: (await runs.events(b.runId, 0, 10))[0],
    turns: (await runs.checkpoint(b.runId)).turns[0],
    calls: (await runs.checkpoint(b.runId)).calls[0],
    history: (await runs.history(b.threadId, { role: undefined, subject: undefined, maxBytes: 1_000 })).entries[0],
    heads: (await runs.heads([b.runId]))[0],
    listRuns: (await runs.list(b.agentId, { limit: 10 }))[0],
    active: (await runs.active(b.threadId))[0],
    accept: await calls.accept({ callId: b.callId, attempt: 1, fence: 1, replicaId: "replica-x" }),
    withdraw: (await calls.withdraw({ callId: b.callId, attempt: 1 })) || undefined,
    arrivals: (await calls.arrivals([b.callId]))[0],
    threadExists: (await threads.exists(b.agentId, b.threadId)) || undefined,
    listThreads: (await threads.list(b.agentId, { limit: 10 })).items[0],
    getThread: await threads.get(b.agentId, b.threadId, { limit: 100 }),
    readable: (await threads.readable(b.agentId, b.threadId)) === "none" ? undefined : "some",
    facts: await runs.facts(b.agentId, b.runId),
    eraseThread: (await threads.erase(b.agentId, b.threadId)) || undefined,
    getManifest: await runtimes.getManifest(b.agentId, b.hash),
    links: (await runtimes.connections(b.agentId))[0],
    renewConnections: await runtimes.renewConnections([b.connectionId]),
    connectionClosed: await runtimes.connectionClosed(b.connectionId),
    lastSeen: await runtimes.lastSeen(b.agentId),
    webhook: await webhooks.get(b.agentId),
    rotateWebhook: (await webhooks.rotate(b.agentId, "x", 0)) || undefined,
    addDelivery: await webhooks.add(b, { type: "webhook.test", data: {} }),
    deliveries: (await webhooks.deliveries({ agentId: b.agentId, limit: 10 })).items[0],
    due: (await webhooks.due([a.agentId]))[0],
    claimDelivery: (await webhooks.claim(b.agentId, { limit: 10, leaseMs: 1 }))[0],
    removeWebhook: (await webhooks.remove(b.agentId)) || undefined,
    audit: (await audit.list({ agentId: b.agentId, limit: 10 })).items[0],
    listMembers: (await members.list(b.orgId, { limit: 10 })).items[0],
    getMember: await members.get(b.orgId, b.memberId),
    memberById: await members.byId(b.memberId),
    memberByEmail: await members.byEmail("b@example.com"),
    changeRole: (await members.changeRole(b.orgId, b.memberId, "owner")) === "unknown" ? undefined : "changed",
    removeMember: (await members.remove(b.orgId, b.memberId)) === "unknown" ? undefined : "removed",
    session: await signIn.session(b.hash),
    validSessions: [...(await signIn.validSessions([b.hash]))][0],
    rotateSession: (await signIn.rotateSession({ hash: b.hash, next: "x" })) || undefined,
    link: await signIn.link(b.hash),
    useLink: (await signIn.useLink(b.hash)) || undefined,
    pendingLinks: (await signIn.pendingLinks(b.orgId, { limit: 10 })).items[0],
    withdrawLink: (await signIn.withdrawLink(b.orgId, b.memberId)) || undefined,
    createLink:
      (await signIn.createLink({ hash: "x", kind: "invitation", memberId: b.memberId, lifeMs: 1 })).kind === "not_owner"
        ? undefined
        : "made",
    figures: await organisations.figures(b.orgId),
    refused:
      (await runs.start(sampleRun({ orgId: a.orgId, agentId: b.agentId, threadId: b.threadId }))).kind === "thread_gone"
        ? undefined
        : "started",
  }));

  expect(Object.entries(found).filter(([, value]) => value !== undefined)).toEqual([]);
  expect(await runtimes.connections(b.agentId)).toEqual([b.link]);
  expect(await signIn.session(b.hash)).toMatchObject({ member: { memberId: b.memberId, role: "owner" } });
  expect((await signIn.pendingLinks(b.orgId, { limit: 10 })).items).toMatchObject([
    { createdBy: { memberId: b.memberId } },
  ]);
  expect(await runs.get(b.agentId, b.runId)).toMatchObject({ status: "running", fence: 1, cancelRequested: false });
});

test("no method of the store writes for another organisation", async () => {
  await using place = await openTenants();
  const { store, a, b } = place;
  const { accounts, runs, runtimes, audit } = store;
  const refused = (write: () => Promise<unknown>) => expect(store.within(a.orgId, write)).rejects;

  await refused(() => accounts.createOrg({ orgId: "org_c", name: "", tier: "" })).toThrow(FORBIDDEN);
  await refused(() => accounts.createAgent({ agentId: "x", orgId: b.orgId, name: "", instructions: "" })).toThrow(
    FORBIDDEN,
  );
  await refused(() =>
    accounts.createCredential({ credentialId: "x", kind: "api", agentId: b.agentId, hash: "x", hint: "" }),
  ).toThrow();
  await refused(() => accounts.grant(b.orgId, 5)).toThrow(/does not exist/);
  await refused(() => accounts.countQuery(b.orgId)).toThrow(FORBIDDEN);
  await refused(() => runs.start(sampleRun({ orgId: b.orgId, agentId: b.agentId }))).toThrow(FORBIDDEN);
  await refused(() => runs.commit({ runId: b.runId, fence: 1 }, { events: [event(2)] })).toThrow(LeaseLost);
  await refused(() => runs.reserve(b.orgId, b.runId, 1, 5)).toThrow(LeaseLost);
  await refused(() => runtimes.saveManifest(b.agentId, "x", {} as never)).toThrow();
  const member = { memberId: "x", orgId: b.orgId, email: "x@example.com", name: "", role: "owner" as const };
  const invitation = { hash: "x", member: { ...member, passwordHash: null }, lifeMs: 1 };
  await refused(() => store.signIn.invite(invitation)).toThrow(FORBIDDEN);
  await refused(() => audit.record([{ orgId: b.orgId, action: "x" }])).toThrow(FORBIDDEN);

  expect(await accounts.balance(b.orgId)).toBe(1000);
});

test("a connection without an organisation sees nothing", async () => {
  await using place = await openTenants();
  const client = new Client({ connectionString: place.database.url });
  await client.connect();

  for (const table of place.tables)
    expect([table, (await client.query(`select * from ${table}`)).rows]).toEqual([table, []]);

  await client.end();
});

test("a role that bypasses row-level security is logged once with a remedy; a plain role is not", async () => {
  await using place = await postgresPlace();
  const warnings: string[] = [];
  const log = {
    debug() {},
    info() {},
    error() {},
    warn: (message: string, fields?: object) => warnings.push(`${message} ${JSON.stringify(fields)}`),
    child: () => log,
  };

  await (await openStore(place.database.url, { log })).close();
  expect(warnings).toEqual([]);
  await (await openStore(place.database.adminUrl, { log })).close();

  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(/bypasses row-level security.*create role/);
});
