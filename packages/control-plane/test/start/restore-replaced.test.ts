import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { restoreBackup } from "../../src/start/restore.ts";
import { StoreInUse } from "@patchbay/store/dialect/sqlite-files";
import { openStore } from "@patchbay/store/open";
import { sqlitePlace } from "../../../store/test/sqlite-place.ts";

/** A database with two organisations, and a backup with the first of them. */
async function backedUp() {
  const place = await sqlitePlace();
  const store = await openStore(place.url);
  await store.accounts.createOrg({ orgId: "org_1", name: "Before", tier: "starter" });
  const backup = join(place.folder, "backup.db");
  await store.backup(backup);
  await store.accounts.createOrg({ orgId: "org_2", name: "After", tier: "starter" });
  await store.close();
  return { ...place, backup, replaced: `${place.file}.before-restore` };
}

const namesIn = (file: string): unknown[] => {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return database
      .prepare("select name from orgs order by name")
      .all()
      .map(({ name }) => name);
  } finally {
    database.close();
  }
};

test("a restore leaves the replaced database next to the new one, with what was not yet in its file", async () => {
  await using place = await backedUp();
  // A process that was killed leaves its last commits in the -wal file.
  const killed = new DatabaseSync(place.file);
  killed.exec("pragma wal_autocheckpoint = 0; update orgs set name = 'Renamed' where id = 'org_2'");
  for (const part of ["", "-wal"]) writeFileSync(`${place.file}${part}.kept`, readFileSync(place.file + part));
  killed.close();
  for (const part of ["", "-wal"]) await rename(`${place.file}${part}.kept`, place.file + part);

  const { replaced } = await restoreBackup(place.url, place.backup, { force: true });

  expect(replaced).toBe(place.replaced);
  expect(namesIn(place.file)).toEqual(["Before"]);
  expect(namesIn(place.replaced)).toEqual(["Before", "Renamed"]);
  for (const part of ["-wal", "-shm"]) expect(existsSync(place.file + part)).toBe(false);
});

test("a second restore leaves the database that it replaced, and --discard none", async () => {
  await using place = await backedUp();
  await restoreBackup(place.url, place.backup, { force: true });
  await restoreBackup(place.url, place.backup, { force: true });
  expect(namesIn(place.replaced)).toEqual(["Before"]);
  await rm(place.replaced);

  expect(await restoreBackup(place.url, place.backup, { force: true, discard: true })).not.toHaveProperty("replaced");

  expect(existsSync(place.replaced)).toBe(false);
  expect(namesIn(place.file)).toEqual(["Before"]);
});

test("a restore refuses while another process reads the database, and changes nothing", async () => {
  await using place = await backedUp();
  const reader = new DatabaseSync(place.file, { readOnly: true });
  reader.exec("begin; select * from orgs");
  await expect(restoreBackup(place.url, place.backup, { force: true })).rejects.toThrow(StoreInUse);
  reader.close();
  expect(namesIn(place.file)).toEqual(["After", "Before"]);
  expect(existsSync(place.replaced)).toBe(false);
});

test("a database that SQLite cannot read is replaced, and its file stays", async () => {
  await using place = await backedUp();
  writeFileSync(place.file, "not a database, but longer than the header of one".repeat(40));
  writeFileSync(`${place.file}-wal`, "log");

  await restoreBackup(place.url, place.backup, { force: true });

  expect(namesIn(place.file)).toEqual(["Before"]);
  expect(readFileSync(place.replaced, "utf8")).toMatch(/^not a database/);
  expect(existsSync(`${place.file}-wal`)).toBe(false);
});

test("no database is created next to an interrupted restore", async () => {
  await using place = await backedUp();
  await rename(place.file, `${place.file}.restoring`);
  await expect(openStore(place.url)).rejects.toThrow("was interrupted, and the database does not exist");
  expect(existsSync(place.file)).toBe(false);

  await restoreBackup(place.url, place.backup);

  expect(namesIn(place.file)).toEqual(["Before"]);
});
