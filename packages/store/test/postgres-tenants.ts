import type { Manifest } from "@patchbay/protocol";
import { Kysely } from "kysely";
import { silentLog } from "@patchbay/kit";
import { type OpenStore, openStore } from "../src/open.ts";
import { postgresDialect } from "../src/dialect/postgres.ts";
import { ending, event, sampleCall, sampleLink, sampleRun, sampleTurn } from "./contract/world.ts";
import { postgresPlace } from "./postgres-place.ts";

/** What one organisation has, in every table. */
export interface Tenant {
  orgId: string;
  agentId: string;
  threadId: string;
  runId: string;
  callId: string;
  keyId: string;
  hash: string;
  connectionId: string;
  memberId: string;
  link: ReturnType<typeof sampleLink>;
}

/** Without `service`, `served` and `upkeep`, whose rows belong to no organisation. */
export const TABLES_OF_STORE = `
  select relname::text as name from pg_class
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname not like 'kysely%' and relname not in ('service', 'served', 'upkeep')`;

/** A store with two organisations, and connections of its kind for statements past its methods. */
export async function openTenants() {
  await using opening = new AsyncDisposableStack();
  const { database } = opening.use(await postgresPlace());
  const store = opening.adopt(await openStore(database.url), (open) => open.close());
  const tenants = [await fill(store, "a"), await fill(store, "b")] as const;
  const dialect = await postgresDialect(database.url, { log: silentLog });
  const db = opening.adopt(new Kysely<Record<string, object>>({ dialect: dialect.kysely }), (open) => open.destroy());
  const tables = (await database.query(TABLES_OF_STORE)).map(({ name }) => name as string);
  const held = opening.move();
  return {
    store,
    database,
    db,
    within: dialect.within,
    tables,
    a: tenants[0],
    b: tenants[1],
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

async function fill(store: OpenStore, name: string): Promise<Tenant> {
  const tenant = {
    orgId: `org_${name}`,
    agentId: `agt_${name}`,
    callId: `call_${name}`,
    keyId: `key_${name}`,
    hash: `hash_${name}`,
    connectionId: `link_${name}`,
    memberId: `mem_${name}`,
  };
  const { orgId, agentId, callId, keyId, hash, connectionId } = tenant;
  const { accounts, runs, runtimes, members, signIn } = store;
  await accounts.createOrg({ orgId, name, tier: "starter" });
  await accounts.createAgent({ agentId, orgId, name, instructions: "" });
  await accounts.createCredential({ credentialId: keyId, kind: "api", agentId, hash, hint: name });
  await accounts.grant(orgId, 1000);
  await accounts.countQuery(orgId);
  await runtimes.saveManifest(agentId, hash, { functions: [] } as unknown as Manifest);
  const set = { service: "desk", deployment: "v1", named: true, manifestHash: hash };
  await runtimes.noteSet(agentId, set, { functions: [] } as unknown as Manifest, { keyId });
  const link = sampleLink({ agentId, instanceId: "rt_1", connectionId, manifestHash: hash });
  await runtimes.connectionOpened(link);
  const audit = [{ action: "run.started", agentId }];
  const threadKey = { scope: keyId, id: "chat" };
  const order = { threadKey, orgId, agentId, keyId, sessionId: "s1", idempotency: { key: "k1", bodyHash: "b" }, audit };
  const run = sampleRun(order);
  await runs.start(run);
  const approval = {
    approvalId: `apr_${name}`,
    callId,
    functionName: "list_orders",
    arguments: {},
    argumentsHash: hash,
    by: ["caller"],
    edit: [],
    fourEyes: false,
    expiresAt: Date.now() + 60_000,
  };
  await runs.commit(
    { runId: run.runId, fence: 1 },
    { events: [event(1)], turn: sampleTurn(0), calls: [sampleCall(callId)], approvals: { requested: [approval] } },
  );
  const thrown = { name: "Error", message: name, stack: "" };
  await store.calls.recordError({ agentId, instanceId: "rt_1", callId }, thrown);
  await runs.recordFeedback({ runId: run.runId, orgId, keyId }, { score: 1 });
  await runs.recordRerun({ originId: "run_0", runId: run.runId, orgId });
  const ended = sampleRun({ orgId, agentId, keyId });
  await runs.start(ended);
  await runs.commit({ runId: ended.runId, fence: 1 }, ending({ ...ended, lastSeq: 0 }));
  await runs.noteWritten({ agentId, orgId }, new Map([[hash.slice(0, 16), false]]));
  await store.index.record();
  await store.webhooks.set({ agentId, orgId, url: `https://${name}.example`, secret: name });
  await store.webhooks.add({ agentId, orgId }, { type: "webhook.test", data: {} });
  const permit = { agentId, functionName: "list_orders", callId, start: 1, orgId };
  await store.permits.acquire(permit, { limit: 1, holdMs: 60_000, waitMs: 60_000 });
  await store.audit.record([{ orgId, agentId, action: "call.succeeded", functionName: "list_orders" }]);
  const { db } = store.engine;
  await db
    .insertInto("first_start")
    .values({ name: `agent of ${name}`, org_id: orgId, value: name })
    .execute();
  // Entries of the last seconds are not sealed.
  await db
    .updateTable("audit")
    .set((eb) => ({ created_at: eb("created_at", "-", 60_000) }))
    .where("org_id", "=", orgId)
    .execute();
  await store.audit.seal({ orgId });
  await store.audit.noteHeads();
  const candidate = { agentId, orgId, connectionId, service: "desk", manifestHash: hash };
  await store.shadows.begin(candidate, 60_000);
  const difference = { functionName: "list_orders", role: undefined, runId: run.runId, was: "denied", is: "allowed" };
  const step = { position: { at: 1, id: "" }, judged: 1, unanswered: 0, differences: [difference] };
  await store.shadows.record(candidate, step);
  const token = { tokenId: `svt_${name}`, orgId, hash, hint: name, scopes: ["agents:read" as const] };
  await store.serviceTokens.create(token);
  const page = { tokenId: `clt_${name}`, keyId, hash, role: "clerk", context: {}, allow: [], lifeMs: 60_000 };
  await store.clientTokens.create(page);
  const { memberId } = tenant;
  await store.views.add({ viewId: `view_${name}`, orgId, agentId, memberId, name, shared: true, search: {} });
  await store.requestKeys.take({ orgId, actorId: memberId, key: "k1", bodyHash: hash });
  const member = { memberId, orgId, email: `${name}@example.com`, name, role: "owner" as const, passwordHash: "x" };
  await members.create(member);
  await signIn.openSession({ hash, memberId });
  await signIn.createLink({ hash, kind: "invitation", memberId, lifeMs: 60_000, by: memberId });
  return { ...tenant, link, runId: run.runId, threadId: run.threadId };
}
