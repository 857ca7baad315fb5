import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { administration } from "./support/administration.ts";

test("doctor --runs reads the database only, and names an organisation whose balance is not its ledger's sum", async () => {
  await using admin = await administration();
  const { orgId = "" } = await admin.json("orgs", "create", "Acme", "--tier", "starter");
  await admin.json("credits", "grant", "--org", orgId, "5");
  const file = join(admin.folder, "patchbay.db");
  const content = () => createHash("sha256").update(readFileSync(file)).digest("hex");
  const before = content();

  expect(await admin.run("doctor", "--runs")).toMatchObject({
    code: 0,
    stdout: "checked 0 runs, 0 calls: 0 violations\n",
  });
  expect(content()).toBe(before);

  using database = new DatabaseSync(file);
  database.exec("update balances set micros = 7");
  const line = `${orgId}  -  balance in micro-USD: expected 5000000, found 7`;
  expect(await admin.run("doctor", "--runs")).toEqual({
    code: 1,
    stdout: `${line}\nchecked 0 runs, 0 calls: 1 violation\n`,
    stderr: "error: 1 violation.\n",
  });
});

test("doctor --runs refuses a missing database, one of another version, and an invalid time", async () => {
  await using admin = await administration();
  const refusal = async (...more: string[]) => {
    const { code, stdout, stderr } = await admin.run("doctor", "--runs", "--json", ...more);
    expect([code, stdout]).toEqual([1, ""]);
    return stderr;
  };
  const file = join(admin.folder, "patchbay.db");
  expect(await refusal()).toContain("No database at");
  writeFileSync(file, "");
  expect(await refusal()).toContain("has an earlier version's schema. Run `patchbay db migrate` before.");
  expect(readFileSync(file)).toHaveLength(0);

  await admin.run("db", "migrate");
  expect(await refusal("--since", "lately")).toContain('"lately" is not a valid time');
  using database = new DatabaseSync(file);
  database.exec("insert into kysely_migration (name, timestamp) values ('9999-later', '2040')");
  expect(await refusal()).toContain("A newer version of Patchbay has used this database.");
});
