import { join } from "node:path";
import { openStore } from "@patchbay/control-plane/admin";
import { expect, test } from "vitest";
import { runCommand, temporaryFolder } from "./support/command.ts";

test("db migrate makes a database, and db status shows its migrations and what a newer version has run", async () => {
  await using folder = await temporaryFolder();
  const db = (...args: string[]) => runCommand(["db", ...args, "--data-dir", folder.path]);
  expect(await db("status")).toMatchObject({ code: 1, stderr: expect.stringContaining("No database at") as string });

  const migrated = JSON.parse((await db("migrate", "--json")).stdout) as { migrated: string[] };
  const status = await db("status", "--json");

  expect(migrated.migrated).toContain("0001-initial-schema");
  expect(status.code).toBe(0);
  expect(JSON.parse(status.stdout)).toMatchObject({ applied: migrated.migrated, pending: [], unknown: [] });
  expect((await db("migrate")).stdout).toContain("Nothing to migrate.");

  const store = await openStore(`sqlite:${join(folder.path, "patchbay.db")}`);
  const migrations = store.engine.db.withTables<{ kysely_migration: { name: string; timestamp: string } }>();
  await migrations.insertInto("kysely_migration").values({ name: "9999-later", timestamp: "2040" }).execute();
  await store.close();
  const newer = await db("status");
  expect(newer).toMatchObject({ code: 1, stderr: expect.stringContaining("A newer version of Patchbay") as string });
  expect(newer.stdout).toMatch(/9999-later\s+of a newer version/);
});
