import { DatabaseSync } from "node:sqlite";
import { Kysely, sql } from "kysely";
import { expect, test, vi } from "vitest";
import { sqliteDialect } from "../src/dialect/sqlite.ts";
import { type Engine, transact } from "../src/engine.ts";
import { sqlitePlace } from "./sqlite-place.ts";
import { StoreHealth } from "../src/health.ts";

async function openNotes() {
  const place = await sqlitePlace();
  const dialect = sqliteDialect(place.file);
  const db = new Kysely<{ notes: { text: string } }>({ dialect: dialect.kysely });
  const engine = { db, dialect, health: new StoreHealth() } as unknown as Engine;
  await db.schema.createTable("notes").addColumn("text", "text").execute();
  const other = new DatabaseSync(place.file);
  return {
    db,
    transact: <T>(work: (trx: typeof db) => Promise<T>) =>
      transact(engine, (trx) => work(trx.db as unknown as typeof db)),
    write: (...texts: string[]) =>
      transact(engine, async (trx) => {
        const notes = trx.db as unknown as typeof db;
        for (const text of texts) await notes.insertInto("notes").values({ text }).execute();
      }),
    read: async () => (await db.selectFrom("notes").select("text").execute()).map(({ text }) => text),
    /** What another process sees: only what was committed. */
    committed: () => other.prepare("select text from notes").all().map(Object.values).flat(),
    async [Symbol.asyncDispose]() {
      other.close();
      await db.destroy();
      await place[Symbol.asyncDispose]();
    },
  };
}

/** Stops the clock that ends a group: a slow disk or a busy machine must not. */
function stopClock(): Disposable {
  vi.useFakeTimers({ toFake: ["performance"] });
  return { [Symbol.dispose]: () => void vi.useRealTimers() };
}

test("a transaction ends only after its shared commit", async () => {
  await using notes = await openNotes();
  using _clock = stopClock();
  const seen: unknown[] = [];

  await Promise.all(["a", "b", "c"].map((text) => notes.write(text).then(() => seen.push(...notes.committed()))));

  expect(seen).toEqual(["a", "b", "c", "a", "b", "c", "a", "b", "c"]);
});

test("a failing transaction rolls back its own work only", async () => {
  await using notes = await openNotes();
  const writing = notes.write("before");
  const failing = notes.transact(async (trx) => {
    await trx.insertInto("notes").values({ text: "lost" }).execute();
    throw new Error("changed its mind");
  });
  const statement = notes.db.insertInto("notes").values({ text: "between" }).execute();

  const ended = await Promise.allSettled([writing, failing, statement, notes.write("after")]);

  expect(ended.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  expect((await notes.read()).toSorted()).toEqual(["after", "before", "between"]);
  expect(ended[1]).toMatchObject({ reason: new Error("changed its mind") });
});

test("a statement outside of transactions is stored once when its group is undone", async () => {
  await using notes = await openNotes();
  const statement = notes.db.insertInto("notes").values({ text: "kept" }).execute();
  const failing = notes.transact(async (trx) => {
    await trx.insertInto("notes").values({ text: "lost" }).execute();
    throw new Error("changed its mind");
  });

  await Promise.allSettled([statement, failing]);

  expect(notes.committed()).toEqual(["kept"]);
});

test("of a series of failing transactions only the first has others repeated", async () => {
  await using notes = await openNotes();
  let repeated = -20;
  const writing = (text: string) =>
    notes.transact(async (trx) => {
      repeated++;
      await trx.insertInto("notes").values({ text }).execute();
    });
  const failing = () =>
    notes.transact(async (trx) => {
      await trx.insertInto("notes").values({ text: "lost" }).execute();
      throw new Error("changed its mind");
    });

  for (let round = 0; round < 10; round++)
    await Promise.allSettled([writing(`a${round}`), failing(), writing(`b${round}`), failing()]);

  expect(repeated).toBe(1);
  expect(await notes.read()).toHaveLength(20);
});

test("a read sees committed rows only", async () => {
  await using notes = await openNotes();
  const writing = Array.from({ length: 20 }, (_, i) => notes.write(`${i}`));

  const read = await notes.read();

  expect(notes.committed()).toEqual(expect.arrayContaining(read));
  await Promise.all(writing);
});

test("when a commit fails, every transaction in it fails, and later ones work", async () => {
  await using notes = await openNotes();
  await sql`create table kinds (name text primary key)`.execute(notes.db);
  await sql`create table tags (kind text references kinds (name) deferrable initially deferred)`.execute(notes.db);
  using _clock = stopClock();
  const broken = notes.db.transaction().execute((trx) => sql`insert into tags values ('of no kind')`.execute(trx));

  const ended = await Promise.allSettled([notes.write("a"), broken, notes.write("b")]);
  await notes.write("c");

  expect(ended.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(await notes.read()).toEqual(["c"]);
});

test("rows written just before the close exist at the next start", async () => {
  await using notes = await openNotes();
  const writing = notes.write("last");
  await notes.db.destroy();

  await writing;

  expect(notes.committed()).toEqual(["last"]);
});

test("a read outside of transactions waits for none of them", async () => {
  await using notes = await openNotes();
  await notes.write("before");

  const read = await notes.db.transaction().execute(async (trx) => {
    await trx.insertInto("notes").values({ text: "open" }).execute();
    return notes.read();
  });

  expect(read).toEqual(["before"]);
});

test("a group of half a megabyte of text is committed immediately", async () => {
  await using notes = await openNotes();
  using _clock = stopClock();
  const seen: number[] = [];
  const large = ["a", "b", "c", "d"].map((letter) => letter.repeat(300_000));

  await Promise.all(large.map((text) => notes.write(text).then(() => seen.push(notes.committed().length))));

  expect(seen).toEqual([2, 2, 4, 4]);
});

test("a rollback based on uncommitted rows ends only after their commit", async () => {
  await using notes = await openNotes();
  let seen: unknown[] = [];
  const giving = () =>
    notes.transact(async (trx) => {
      seen = (await trx.selectFrom("notes").select("text").execute()).map(({ text }) => text);
      throw new Error("is there already");
    });
  // The first rollback undoes its group and is repeated, the second one has a savepoint.
  for (const text of ["first", "second"]) {
    const writing = notes.write(text);
    const found = await giving().catch(() => notes.committed());

    expect(found).toEqual(seen);
    await writing;
  }
  expect(seen).toEqual(["first", "second"]);
});
