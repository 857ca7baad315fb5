import { type Kysely, sql } from "kysely";
import { expect, test } from "vitest";
import { transact } from "../src/engine.ts";
import { openStore } from "../src/open.ts";
import type { Schema } from "../src/tables/schema.ts";
import type { NamedQuery } from "@patchbay/database/postgres-connection";
import { statement } from "../src/statement.ts";
import { event, sampleCall, sampleRun, sampleTurn } from "./contract/world.ts";
import { postgresPlace } from "./postgres-place.ts";

const NAMES = sql<{ name: string }>`select name from pg_prepared_statements order by name`;

/** A store with one connection, so that a test finds the statements that it keeps prepared. */
async function openOne(options: string) {
  await using opening = new AsyncDisposableStack();
  const { database } = opening.use(await postgresPlace());
  const store = opening.adopt(await openStore(`${database.url}?pool_size=1${options}`), (open) => open.close());
  await store.accounts.createOrg({ orgId: "org_1", name: "Desk", tier: "starter" });
  await store.accounts.createAgent({ agentId: "agt_1", orgId: "org_1", name: "Clerk", instructions: "" });
  const { db } = store.engine;
  const held = opening.move();
  return {
    store,
    db,
    database,
    prepared: async () => (await NAMES.execute(db)).rows.map(({ name }) => name),
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

for (const [option, kept] of [
  ["&prepare=true", true],
  ["&prepare=false", false],
  ["", true],
] as const)
  test(`a connection of an address with "${option}" keeps ${kept ? "compiled" : "no"} statements prepared`, async () => {
    await using opened = await openOne(option);
    const { runs } = opened.store;
    const work = async (at: number) => {
      const run = sampleRun({ orgId: "org_1", agentId: "agt_1" });
      await opened.store.within("org_1", async () => {
        await runs.start(run);
        const step = { events: [event(1)], turn: sampleTurn(0), calls: [sampleCall(`call_${at}`)] };
        await runs.commit({ runId: run.runId, fence: 1 }, step);
      });
      expect(await runs.events(run.runId, 0, 10)).toEqual([event(1)]);
    };

    await work(1);
    const names = await opened.prepared();
    await work(2);

    expect(names.length > 0).toBe(kept);
    expect(names.filter((name) => !/^patchbay_([0-9a-f]{20}|begin|commit|org)$/.test(name))).toEqual([]);
    expect(await opened.prepared()).toEqual(names);
  });

const allOrgs = statement((_: object, { db }) => db.selectFrom("orgs").selectAll());
const rename = statement(({ name }: { name: string }, { db }) => db.updateTable("orgs").set({ name }).returningAll());

test("statements continue after a newer version has added a column to their result", async () => {
  await using opened = await openOne("");
  const { engine } = opened.store;
  const uses = [
    () => allOrgs(engine, {}),
    () => rename(engine, { name: "Till" }),
    () => transact(engine, async (trx) => [...(await allOrgs(trx, {})), ...(await rename(trx, { name: "Desk" }))]),
  ];
  for (const use of uses) await use();

  for (const [at, use] of uses.entries()) {
    await opened.database.query(`alter table orgs add column added_${at} text`);
    for (const row of await use()) expect(row).toHaveProperty(`added_${at}`, null);
  }
  for (const at of uses.keys()) await opened.database.query(`alter table orgs drop column added_${at}`);
});

test("statements continue after the server has dropped them, as a pooler does that gives out another connection", async () => {
  await using opened = await openOne("");
  const { engine } = opened.store;
  const uses = [
    () => allOrgs(engine, {}),
    () => rename(engine, { name: "Till" }),
    () => transact(engine, (trx) => allOrgs(trx, {})),
  ];
  for (const use of uses) await use();

  for (const use of uses) {
    await sql`deallocate all`.execute(opened.db);
    expect(await use()).toHaveLength(1);
  }
});

test("a statement that could not be prepared is prepared at its next use", async () => {
  await using opened = await openOne("");
  const { db } = opened;
  const later = (text: string): NamedQuery => ({ ...sql.raw(text).compile(db), name: "patchbay_later" });

  await expect(db.executeQuery(later("select * from later"))).rejects.toThrow("does not exist");
  await create(db);
  expect((await db.executeQuery(later("select * from later"))).rows).toEqual([]);
  await sql`drop table later`.execute(db);
});

const create = (db: Kysely<Schema>) => sql`create table later (id text)`.execute(db);
