import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { expect, test } from "vitest";
import { testDatabase } from "@patchbay/test-support/postgres";
import { uniqueName } from "@patchbay/test-support/postgres-server";
import type { Log } from "@patchbay/kit";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import { BackupFailed } from "../src/backup.ts";
import { FIRST_MIGRATION } from "../src/migrate.ts";
import { inspectStore, lockStore, openStore } from "../src/open.ts";
import { violations } from "../src/proof/violations.ts";
import { spawnChild } from "./children.ts";
import { sampleRun } from "./contract/world.ts";

const PASSWORD = "s3cret-pass";

test("eight processes can open a new database at the same time", async () => {
  await using database = await testDatabase();
  await using folder = await temporaryFolder();

  const children = Array.from({ length: 8 }, () => spawnChild("open", database.url, join(folder.path, "code")));

  expect(await Promise.all(children.map(({ exit }) => exit))).toEqual(Array(8).fill(0));
  const applied = await database.query("select name from kysely_migration order by name");
  expect(applied[0]).toEqual({ name: FIRST_MIGRATION });
  expect(await inspectStore(database.url)).toMatchObject({ pending: [], unknown: [] });
});

test("a migration may take longer than the time limit that the database sets", async () => {
  await using database = await testDatabase();
  const name = new URL(database.url).pathname.slice(1);
  await database.query(`alter database ${name} set statement_timeout = '2s'`);
  const other = new Client({ connectionString: database.adminUrl });
  await other.connect();
  await other.query("select pg_advisory_lock(3853314791062309107)");

  let failed = false;
  const opened = openStore(database.url).catch((error: unknown) => {
    failed = true;
    throw error;
  });
  const waits = `select 1 from pg_stat_activity
    where datname = '${name}' and wait_event = 'advisory' and clock_timestamp() - query_start > interval '2.2 s'`;
  const waited = async () => (await database.query(waits)).length > 0;
  await expect.poll(async () => failed || (await waited())).toBe(true);
  await other.end();

  await (await opened).close();
});

test("a role that may only select can check stored runs, once the schema is this version's", async () => {
  await using database = await testDatabase();
  const reader = uniqueName("patchbay_reader");
  await database.query(`create role ${reader} login password '${PASSWORD}'`);
  await using opened = new AsyncDisposableStack();
  opened.defer(async () => void (await database.query(`drop owned by ${reader}; drop role ${reader}`)));
  const url = Object.assign(new URL(database.url), { username: reader, password: PASSWORD }).href;
  await expect(openStore(url, { readOnly: true })).rejects.toThrow(/earlier version's schema.*db migrate/);

  const writer = opened.adopt(await openStore(database.url), (store) => store.close());
  await writer.accounts.createOrg({ orgId: "org_1", name: "Desk", tier: "starter" });
  await writer.accounts.createAgent({ agentId: "agt_1", orgId: "org_1", name: "Clerk", instructions: "" });
  await writer.runs.start(sampleRun({ orgId: "org_1", agentId: "agt_1" }));
  await database.query(`grant select on all tables in schema public to ${reader}`);
  const store = opened.adopt(await openStore(url, { readOnly: true }), (one) => one.close());

  expect(await violations(store)).toEqual({ runs: 1, calls: 0, violations: [], notes: [] });
});

test("a missing database is named, with the command that creates it", async () => {
  await using database = await testDatabase();
  const url = Object.assign(new URL(database.url), { pathname: "/none_such" }).href;

  expect(await failure(url)).toMatch(/there is no database none_such at .*createdb --host/);
});

test("a server that refuses the password or does not answer is named without the password", async () => {
  await using refusing = await refusingServer("28P01");
  await using stranger = await refusingServer("28000");

  const wrong = await failure(`postgres://clerk:${PASSWORD}@127.0.0.1:${refusing.port}/patchbay`);
  const unknown = await failure(`postgres://clerk:${PASSWORD}@127.0.0.1:${stranger.port}/patchbay`);
  const gone = await failure(`postgres://clerk:${PASSWORD}@127.0.0.1:1/patchbay`);

  expect(wrong).toMatch(/refused the password of user clerk\. Correct it/);
  expect(unknown).toMatch(/does not let user clerk in\. .*create role clerk/);
  expect(gone).toMatch(/no database server answers at 127\.0\.0\.1:1\. Start it/);
  for (const message of [wrong, unknown, gone]) expect(message).not.toMatch(/s3cret|\n/);
});

test("an invalid address is refused without being repeated", async () => {
  for (const address of [`postgres://clerk:${PASSWORD}@[bad/db`, `postgres://clerk:${PASSWORD}@host`]) {
    const error: unknown = await openStore(address).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      name: "BadAddress",
      message: expect.stringContaining("postgres://USER:PASSWORD@HOST"),
    });
    expect(String(error) + JSON.stringify(error)).not.toContain(PASSWORD);
  }
  await expect(openStore("postgres://host/db?pool_size=0")).rejects.toThrow("a whole number from 1 to 200");
  await expect(openStore("postgres://host/db?prepare=no")).rejects.toThrow("prepare in the database address must be");
});

test("the log has the address of the store without the password", async () => {
  await using database = await testDatabase();
  const lines: string[] = [];
  const write = (message: string, fields?: object) => void lines.push(message + JSON.stringify(fields));
  const log: Log = { debug: write, info: write, warn: write, error: write, child: () => log };

  await (await openStore(database.url, { log })).close();

  expect(lines.join("\n")).toMatch(/store opened.*postgres:\/\/patchbay_test@127\.0\.0\.1/);
  expect(lines.join("\n")).not.toContain("patchbay_test:patchbay_test");
});

test("a user who may not create tables learns who must own the database", async () => {
  await using database = await testDatabase();
  await database.query("alter schema public owner to postgres; revoke create on schema public from public");

  expect(await failure(database.url)).toMatch(/user patchbay_test may not use database .*owner to patchbay_test/);
});

test("several servers may use one database on Postgres", async () => {
  await using database = await testDatabase();

  await using _first = await lockStore(database.url);
  await using _second = await lockStore(database.url);
});

test("a backup on Postgres names the command to use, which works", async () => {
  await using database = await testDatabase();
  await using restored = await testDatabase();
  await using folder = await temporaryFolder();
  const store = await openStore(database.url);
  await store.accounts.createOrg({ orgId: "org_1", name: "Desk", tier: "starter" });
  const refusal: unknown = await store.backup("copy.db").catch((thrown: unknown) => thrown);
  await store.close();

  expect(refusal).toBeInstanceOf(BackupFailed);
  const command = (refusal as Error).message.replace(/^[^:]*: /, "");
  const shell = (line: string) =>
    execFileSync("sh", ["-c", line], { cwd: folder.path, env: { ...process.env, PGPASSWORD: "patchbay_test" } });
  shell(command);
  shell(`pg_restore --no-owner --dbname='${restored.url}' patchbay.dump`);
  const copy = await openStore(restored.url);

  expect(await copy.accounts.listOrgs()).toEqual([{ orgId: "org_1", name: "Desk", tier: "starter" }]);
  await copy.close();
});

async function failure(url: string): Promise<string> {
  const error: unknown = await openStore(url).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StoreUnavailable);
  return (error as Error).message;
}

/** Answers every connection with one error, as Postgres words it. */
async function refusingServer(code: string): Promise<{ port: number } & AsyncDisposable> {
  const fields = `SFATAL\0C${code}\0Mno\0\0`;
  const answer = Buffer.alloc(5 + fields.length);
  answer.write("E");
  answer.writeInt32BE(4 + fields.length, 1);
  answer.write(fields, 5);
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(answer));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}

async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "patchbay-postgres-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
