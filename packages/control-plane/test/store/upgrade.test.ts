import { DatabaseSync } from "node:sqlite";
import { Kysely } from "kysely";
import { type Migration, Migrator } from "kysely/migration";
import { expect, test } from "vitest";
import { testDatabase } from "../../../../test/support/postgres.ts";
import { silentLog } from "../../src/ports/log.ts";
import { postgresDialect } from "../../src/store/dialect/postgres.ts";
import { sqliteDialect } from "../../src/store/dialect/sqlite.ts";
import * as initial from "../../src/store/migrations/0001-initial.ts";
import * as audit from "../../src/store/migrations/0002-audit.ts";
import * as replicas from "../../src/store/migrations/0003-replicas.ts";
import * as wall from "../../src/store/migrations/0004-wall.ts";
import { openStore } from "../../src/store/open.ts";
import { sqlitePlace } from "./sqlite-place.ts";

const BEFORE_THE_CONSOLE = { "0001-initial": initial, "0002-audit": audit, "0003-replicas": replicas };
const HOUR_MS = 3_600_000;

interface Old extends AsyncDisposable {
  url: string;
  execute(statements: readonly string[]): Promise<void>;
}

const ENGINES: Record<string, () => Promise<Old>> = { SQLite: oldSqlite, Postgres: oldPostgres };

for (const [engine, open] of Object.entries(ENGINES))
  test(`a database on ${engine} from before the console keeps what it has, and the console shows it`, async () => {
    await using old = await open();
    const now = Date.now();
    await old.execute(rowsAt(now - HOUR_MS));

    await using store = await openStore(old.url).then((opened) => ({
      ...opened,
      [Symbol.asyncDispose]: () => opened.close(),
    }));

    const { runs, functions, analytics, credits, agents } = store.console;
    const range = { from: now - 24 * HOUR_MS, to: now + HOUR_MS };
    const buckets = { firstAt: range.from, widthMs: 25 * HOUR_MS, count: 1 };
    const { items } = await runs.list("org_1", "agt_1", { limit: 9, role: "clerk" });
    expect(items).toMatchObject([{ runId: "run_1", calls: 4, failedCalls: 1, deniedCalls: 1, inputTokens: 7 }]);
    expect((await runs.parts("org_1", "agt_1", "run_1"))?.calls).toHaveLength(4);
    const figures = await functions.figures("org_1", "agt_1", range);
    expect(figures.get("refund")).toMatchObject({ calls: 3, failed: 1, denied: 1 });
    const ofRole = await analytics.queries({ orgId: "org_1", role: "clerk", ...range }, buckets);
    expect(ofRole).toMatchObject({
      totals: { succeeded: 1, inputTokens: 7, costMicros: 5 },
      models: [{ inputTokens: 7, cacheWriteInputTokens: 0 }],
      functions: [{ calls: 3 }],
    });
    expect((await functions.sets("org_1", "agt_1", { limit: 9 })).items).toMatchObject([
      { manifestHash: "set_1", firstSeenAt: now - HOUR_MS },
    ]);
    expect((await credits.ledger("org_1", { limit: 9 })).items).toMatchObject([{ kind: "grant", micros: 100 }]);
    expect(await agents.get("org_1", "agt_1")).toMatchObject({ queries: 1, functions: null });
    expect((await store.runs.get("agt_1", "run_1"))?.status).toBe("succeeded");
    // The runtime that was there first stays the older one, however late it connects to this version.
    const sets = await store.runtimes.functionSets("agt_2");
    expect(sets.map(({ service, deployment, named }) => [service, deployment, named])).toEqual([
      ["desk", "rt_old", false],
      ["desk", "rt_new", false],
    ]);
    const next = { service: "desk", deployment: "rt_3", named: false, manifestHash: "set_1" };
    await store.runtimes.noteSet(
      "agt_2",
      next,
      { name: "desk", preparesContext: false, functions: [] },
      { keyId: "k" },
    );
    expect((await store.runtimes.functionSets("agt_2")).at(-1)).toMatchObject({
      deployment: "rt_3",
      replaces: "set_1",
    });
    expect(await store.threads.get("agt_1", "thr_1", { limit: 9 })).toMatchObject({
      messages: [{ content: "Hi" }, { role: "assistant", content: "Two are late." }],
    });
    const byKey = (keyId: string) => store.runs.findByIdempotencyKey({ agentId: "agt_1", keyId }, "order-7");
    expect(await byKey("key_1")).toMatchObject({ runId: "run_1" });
    expect(await byKey("key_2")).toBeUndefined();
    const ofClerks = await store.threads.list("agt_1", { limit: 9, roles: ["clerk"] });
    expect(ofClerks.items).toMatchObject([{ threadId: "thr_1", title: "Hi" }]);
    expect((await store.threads.list("agt_1", { limit: 9, roles: ["guest"] })).items).toEqual([]);
  });

/** One query as a clerk with calls of each outcome, and one that never ended. */
function rowsAt(at: number): string[] {
  const manifest = JSON.stringify({ name: "desk", functions: [] });
  const request = JSON.stringify({ query: "Hi", context: {}, provider: "offline", model: "offline", warnings: [] });
  const call = (id: string, position: number, outcome: object | null) =>
    `insert into calls (id, run_id, org_id, step, position, model_call_id, function_name, arguments, attempt, outcome, created_at, finished_at)
     values ('${id}', 'run_1', 'org_1', 0, ${position}, 'm', 'refund', '{}', 1,
       ${outcome ? `'${JSON.stringify(outcome)}'` : "null"}, ${at}, ${outcome ? at + 5 : "null"})`;
  const audited = (callId: string, action: string) =>
    `insert into audit (id, org_id, agent_id, run_id, call_id, action, created_at)
     values ('aud_${callId}', 'org_1', 'agt_1', 'run_1', '${callId}', '${action}', ${at})`;
  return [
    `insert into orgs (id, name, tier, balance_micros, created_at) values ('org_1', 'Desk', 'starter', 100, ${at})`,
    `insert into agents (id, org_id, name, instructions, created_at) values ('agt_1', 'org_1', 'Clerk', '', ${at})`,
    `insert into manifests (agent_id, hash, org_id, body, created_at) values ('agt_1', 'set_1', 'org_1', '${manifest}', ${at})`,
    `insert into agents (id, org_id, name, instructions, created_at) values ('agt_2', 'org_1', 'Buyer', '', ${at})`,
    `insert into manifests (agent_id, hash, org_id, body, created_at) values ('agt_2', 'set_1', 'org_1', '${manifest}', ${at})`,
    ...[
      ["rt_new", 9],
      ["rt_old", 5],
    ].map(
      ([
        id,
        ms,
      ]) => `insert into runtimes (agent_id, instance_id, org_id, manifest_hash, connected, first_seen_at, last_seen_at)
        values ('agt_2', '${id}', 'org_1', 'set_1', 1, ${at + Number(ms)}, ${at + 50})`,
    ),
    `insert into threads (id, org_id, agent_id, title, last_position, created_at, updated_at)
     values ('thr_1', 'org_1', 'agt_1', 'Hi', 1, ${at}, ${at})`,
    `insert into runs (id, org_id, agent_id, thread_id, position, key_id, role, status, fence, request, result, created_at, started_at, finished_at, deadline_at)
     values ('run_1', 'org_1', 'agt_1', 'thr_1', 1, 'key_1', 'clerk', 'succeeded', 1, '${request}', '{"response":"Two are late."}', ${at}, ${at}, ${at + 10}, ${at})`,
    `insert into idempotency_keys (agent_id, key, run_id, body_hash, created_at)
     values ('agt_1', 'order-7', 'run_1', 'hash', ${at})`,
    `insert into usage (run_id, step, org_id, agent_id, provider, model, input_tokens, cached_input_tokens, output_tokens, cost_micros, created_at)
     values ('run_1', 0, 'org_1', 'agt_1', 'offline', 'offline', 7, 0, 1, 5, ${at})`,
    `insert into ledger (id, org_id, kind, micros, created_at) values ('led_1', 'org_1', 'grant', 100, ${at})`,
    call("c_ok", 0, { ok: true, value: 1 }),
    call("c_denied", 1, { ok: false, code: "denied", message: "No." }),
    call("c_failed", 2, { ok: false, code: "function_failed", message: "Broken." }),
    call("c_open", 3, null),
    audited("c_ok", "call.succeeded"),
    audited("c_denied", "call.denied"),
    // The entry of the failed one is past the days that the audit log is kept.
  ];
}

async function oldSqlite(): Promise<Old> {
  const place = await sqlitePlace();
  await migrateTo(new Kysely({ dialect: sqliteDialect(place.file).kysely }), BEFORE_THE_CONSOLE);
  return {
    url: place.url,
    async execute(statements) {
      const database = new DatabaseSync(place.file);
      for (const statement of statements) database.exec(statement);
      database.close();
    },
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

async function oldPostgres(): Promise<Old> {
  const database = await testDatabase();
  const { patient } = await postgresDialect(database.url, { log: silentLog });
  await migrateTo(new Kysely({ dialect: patient }), { ...BEFORE_THE_CONSOLE, "0004-wall": wall });
  return {
    url: database.url,
    async execute(statements) {
      for (const statement of statements) await database.query(statement);
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

async function migrateTo(db: Kysely<unknown>, migrations: Record<string, Migration>): Promise<void> {
  const { error } = await new Migrator({ db, provider: { getMigrations: async () => migrations } }).migrateToLatest();
  await db.destroy();
  expect(error).toBeUndefined();
}
