import { Kysely, sql } from "kysely";
import { expect, test } from "vitest";
import { silentLog } from "../../src/ports/log.ts";
import { EVERY_ORG } from "../../src/store/dialect/postgres-connection.ts";
import { ScopedPostgresDialect } from "../../src/store/dialect/postgres.ts";
import { openPool } from "../../src/store/dialect/postgres-pool.ts";
import { openTenants } from "./postgres-tenants.ts";
import { postgresPlace } from "./postgres-place.ts";

const SETTING = sql<{ org: string }>`select current_setting('patchbay.org') as org`;

test(
  "2,000 interleaved statements of three organisations never see each other's rows",
  { timeout: 60_000 },
  async () => {
    await using place = await openTenants();
    const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
    console.log(`seed ${seed}`);
    const random = mulberry32(seed);
    const scopes = ["org_a", "org_b", EVERY_ORG];
    const expected: Record<string, string[]> = { org_a: ["org_a"], org_b: ["org_b"], [EVERY_ORG]: ["org_a", "org_b"] };
    const inScope = <T>(scope: string, work: () => T) => (scope === EVERY_ORG ? work() : place.within(scope, work));
    const look = async (db: Kysely<never>) => {
      const found = await sql<{ org: string; orgs: string[] }>`
      select current_setting('patchbay.org') as org, array(select id from orgs order by id) as orgs`.execute(db);
      return found.rows[0];
    };
    class Undone extends Error {}

    const wrong: unknown[] = [];
    const statement = async (): Promise<void> => {
      const scope = scopes[Math.floor(random() * scopes.length)] ?? EVERY_ORG;
      const kind = random();
      const db = place.db as unknown as Kysely<never>;
      const seen = await inScope(scope, async () => {
        if (kind < 0.5) return look(db);
        if (kind < 0.75) return db.transaction().execute(look);
        // What a transaction that is taken back had set goes with it.
        let last: Awaited<ReturnType<typeof look>>;
        const undone = db.transaction().execute(async (trx) => {
          last = await look(trx);
          throw new Undone();
        });
        await undone.catch((error: unknown) => {
          if (!(error instanceof Undone)) throw error;
        });
        return last;
      });
      if (seen?.org !== scope || seen.orgs.join() !== expected[scope]?.join()) wrong.push({ scope, seen });
    };
    // More at once would wait for a connection longer than they may.
    for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 200 }, statement));

    expect(wrong).toEqual([]);
  },
);

test("changing the organisation costs a transaction no message and a statement one message", async () => {
  await using place = await postgresPlace();
  await (await place.open({ now: () => 0, sleep: async () => {} })).close();
  const sent: string[] = [];
  const source = await openPool({ url: place.database.url, poolSize: 1 }, { log: silentLog });
  source.pool.on("connect", (client) => {
    const query = client.query.bind(client) as (text: string, values?: unknown[]) => unknown;
    client.query = ((text: string, values?: unknown[]) => {
      sent.push(text);
      return query(text, values);
    }) as typeof client.query;
  });
  let scope = EVERY_ORG;
  const db = new Kysely<never>({ dialect: new ScopedPostgresDialect(source, () => scope) });
  const sentBy = async (work: () => Promise<unknown>) => {
    sent.length = 0;
    await work();
    return sent.length;
  };
  const statement = () => SETTING.execute(db);
  const transaction = () => db.transaction().execute((trx) => SETTING.execute(trx));

  await statement();
  expect(await sentBy(statement)).toBe(1);
  scope = "org_a";
  expect(await sentBy(transaction)).toBe(3);
  expect(await sentBy(statement)).toBe(2);
  expect(await sentBy(statement)).toBe(1);
  expect(await sentBy(transaction)).toBe(3);
  expect(sent[0]).toBe("begin");

  await db.destroy();
});

test("an organisation's id is never read as SQL", async () => {
  await using place = await openTenants();
  const ids = ["'; drop table orgs; --", "\\'; drop table orgs; --", `"$1$$`, "a\0b", "*'", "é😀", "' || '*"];

  for (const id of ids) {
    const stored = id.replaceAll("\0", "\uFFFD");
    const seen = await place.within(id, async () => [
      ...(await SETTING.execute(place.db)).rows,
      ...(await place.db.transaction().execute((trx) => SETTING.execute(trx))).rows,
    ]);
    expect(seen).toEqual([{ org: stored }, { org: stored }]);
    expect(await place.within(id, () => place.store.accounts.listOrgs())).toHaveLength(2);
    expect(await place.store.within(id, () => place.store.accounts.listOrgs())).toEqual([]);
  }
});

test("an organisation's id cannot select all organisations", async () => {
  await using place = await openTenants();

  expect(() => place.store.within("*", () => "seen")).toThrow(TypeError);
  expect(() => place.store.within("", () => "seen")).toThrow(TypeError);
});

test("a transaction cannot change its organisation", async () => {
  await using place = await openTenants();

  const mixed = place.within("org_a", () =>
    place.db.transaction().execute((trx) => place.within("org_b", () => SETTING.execute(trx))),
  );

  await expect(mixed).rejects.toThrow("cannot change its organisation");
});

test("work started as an organisation continues as that organisation", async () => {
  await using place = await openTenants();
  const gate = Promise.withResolvers<void>();

  const started = place.store.within("org_a", async () => {
    await gate.promise;
    return place.store.accounts.listOrgs();
  });
  expect(await place.store.within("org_b", () => place.store.accounts.listOrgs())).toMatchObject([{ orgId: "org_b" }]);
  expect(await place.store.accounts.listOrgs()).toHaveLength(2);
  gate.resolve();

  expect(await started).toMatchObject([{ orgId: "org_a" }]);
});

function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
