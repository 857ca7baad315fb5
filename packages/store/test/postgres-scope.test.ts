import { Kysely, sql } from "kysely";
import { expect, test } from "vitest";
import { silentLog } from "@patchbay/kit";
import { EVERY_ORG } from "@patchbay/database/postgres-connection";
import { scopedPostgres } from "../src/dialect/postgres.ts";
import { openPool } from "@patchbay/database/postgres-pool";
import type { NamedQuery } from "@patchbay/database/postgres-connection";
import { openTenants } from "./postgres-tenants.ts";
import { postgresPlace } from "./postgres-place.ts";

const SETTING = sql<{ org: string }>`select current_setting('patchbay.org') as org`;

test("2,000 interleaved statements of three organisations, failing ones among them, never see each other's rows", async () => {
  await using place = await openTenants();
  const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
  console.log(`seed ${seed}`);
  const random = mulberry32(seed);
  const scopes = ["org_a", "org_b", EVERY_ORG];
  const expected: Record<string, string[]> = { org_a: ["org_a"], org_b: ["org_b"], [EVERY_ORG]: ["org_a", "org_b"] };
  const inScope = <T>(scope: string, work: () => T) => (scope === EVERY_ORG ? work() : place.within(scope, work));
  const db = place.db as unknown as Kysely<never>;
  const look = async (on: Kysely<never>) => {
    const compiled = sql<{ org: string; orgs: string[] }>`
      select current_setting('patchbay.org') as org, array(select id from orgs order by id) as orgs`.compile(on);
    const named: NamedQuery = { ...compiled, name: "look" };
    const found = await on.executeQuery<{ org: string; orgs: string[] }>(random() < 0.5 ? named : compiled);
    return found.rows[0];
  };
  const failures = [
    { query: sql`select 1 / 0`, error: "division by zero" },
    { query: sql`select pg_cancel_backend(pg_backend_pid()), pg_sleep(1)`, error: "a statement took too long" },
    { query: sql`select pg_terminate_backend(pg_backend_pid()), pg_sleep(1)`, error: "the database" },
  ];
  const fail = async (on: Kysely<never>) => {
    const { query, error } = failures[Math.floor(random() ** 4 * failures.length)]!;
    await expect(query.execute(on)).rejects.toThrow(error);
  };
  class Undone extends Error {}
  const undone = (work: (trx: Kysely<never>) => Promise<void>) =>
    db
      .transaction()
      .execute(async (trx) => {
        await work(trx);
        throw new Undone();
      })
      .catch((error: unknown) => {
        if (!(error instanceof Undone)) throw error;
      });
  const kinds = [
    () => look(db),
    () => db.transaction().execute(look),
    async () => {
      let last: Awaited<ReturnType<typeof look>>;
      await undone(async (trx) => void (last = await look(trx)));
      return last;
    },
    async () => {
      await fail(db);
      return look(db);
    },
    async () => {
      await undone(fail);
      return look(db);
    },
    async () => {
      let last: Awaited<ReturnType<typeof look>>;
      await undone(async (trx) => {
        last = await look(trx);
        await fail(trx);
      });
      return last;
    },
  ];

  const wrong: unknown[] = [];
  const statement = async (): Promise<void> => {
    const scope = scopes[Math.floor(random() * scopes.length)] ?? EVERY_ORG;
    const seen = await inScope(scope, kinds[Math.floor(random() ** 2 * kinds.length)]!);
    if (seen?.org !== scope || seen.orgs.join() !== expected[scope]?.join()) wrong.push({ scope, seen });
  };
  // More at once would wait for a connection longer than they may.
  for (let round = 0; round < 40; round++) await Promise.all(Array.from({ length: 50 }, statement));

  expect(wrong).toEqual([]);
});

test("a statement and its organisation are one message, and so is the begin of a transaction", async () => {
  await using place = await postgresPlace();
  await (await place.open({ now: () => 0, sleep: async () => {} })).close();
  let sent = 0;
  const source = await openPool({ url: place.database.url, poolSize: 1, prepare: true }, { log: silentLog });
  source.pool.on("connect", ({ connection }) => {
    const sync = connection.sync.bind(connection);
    connection.sync = () => {
      sent++;
      sync();
    };
  });
  let scope = EVERY_ORG;
  const db = new Kysely<never>({ dialect: scopedPostgres(source, () => scope) });
  const sentBy = async (work: () => Promise<unknown>) => {
    sent = 0;
    await work();
    return sent;
  };
  const transaction = (statements: number) =>
    db.transaction().execute(async (trx) => {
      for (let i = 0; i < statements; i++) await SETTING.execute(trx);
    });

  for (scope of [EVERY_ORG, "org_a", "org_b"]) {
    expect(await sentBy(() => SETTING.execute(db))).toBe(1);
    expect(await sentBy(() => transaction(1))).toBe(2);
    expect(await sentBy(() => transaction(3))).toBe(4);
    expect(await sentBy(() => transaction(0))).toBe(0);
    // A pooler may give the connection to another replica now.
    const { rows } = await source.pool.query<object>("select current_setting('patchbay.org') as org");
    expect(rows).toEqual([{ org: "" }]);
  }

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
