import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { join } from "node:path";
import { openStore } from "@patchbay/control-plane/admin";
import { expect, test } from "vitest";
import { administration } from "./support/administration.ts";

test("the audit log is verified, against a noted head too, and a change of it exits 1", async () => {
  await using admin = await administration();
  const { orgId = "" } = await admin.json("orgs", "create", "Acme");
  await admin.json("credits", "grant", "--org", orgId, "5");
  const file = join(admin.folder, "patchbay.db");
  const fresh = await admin.run("audit", "verify", "--json");
  const store = await openStore(`sqlite:${file}`);
  await store.audit.seal({ settleMs: 0 });
  await store.close();

  const sealed = await admin.run("audit", "verify", "--json");
  const [verified] = (JSON.parse(sealed.stdout) as { items: { head: string }[] }).items;
  const noted = await admin.run("audit", "verify", "--org", orgId, "--head", verified!.head);
  const foreign = await admin.run("audit", "verify", "--org", orgId, "--head", `1:${"0".repeat(64)}`);
  using database = new DatabaseSync(file);
  database.exec("update audit set detail = null where action = 'credits.granted'");
  const changed = await admin.run("audit", "verify");

  expect(JSON.parse(fresh.stdout)).toMatchObject({ items: [{ orgId, head: null, seals: 0, unsealed: 2 }] });
  expect(verified).toMatchObject({ orgId, seals: 1, entries: 2, unsealed: 0, faults: [] });
  expect(noted).toMatchObject({ code: 0, stdout: expect.stringContaining("verified  2 entries in 1 seals") });
  expect(foreign).toMatchObject({ code: 1, stdout: expect.stringContaining("the chain was written again") });
  expect(changed).toMatchObject({ code: 1, stderr: expect.stringContaining("1 fault.") });
  expect(changed.stdout).toMatch(/fault {2}Entry aud_\S+ \(.*\) was changed after it was sealed\./);
  expect(await admin.run("audit", "verify", "--head", verified!.head)).toMatchObject({ code: 2 });
});

test("a verification shows the retention of what is deleted, notes its change, and exits 1 for a deletion without a record", async () => {
  await using admin = await administration();
  const { orgId = "" } = await admin.json("orgs", "create", "Acme");
  const file = join(admin.folder, "patchbay.db");
  const store = await openStore(`sqlite:${file}`);
  using database = new DatabaseSync(file);
  const age = (days: number) =>
    database.exec(
      `update audit set created_at = created_at - ${days * 86_400_000}
        where created_at > coalesce((select to_at from audit_chains), 0)`,
    );
  const seal = () => store.audit.seal({ settleMs: 0 });
  age(40);
  await seal();
  await store.sweep({ days: 30, auditDays: 30 });
  age(20);
  await seal();
  await store.audit.record([{ orgId, action: "org.renamed" }]);
  age(10);
  await seal();
  await store.sweep({ days: 30, auditDays: 9 });
  await store.close();

  const shown = await admin.run("audit", "verify");
  const json = await admin.run("audit", "verify", "--json");
  database.exec("delete from audit where action = 'audit.deleted'");
  const unrecorded = await admin.run("audit", "verify");

  expect(shown).toMatchObject({ code: 0 });
  expect(shown.stdout).toMatch(/3 entries until \S+ are deleted: past their retention of 9 days\n/);
  expect(JSON.parse(json.stdout)).toMatchObject({ items: [{ deleted: { entries: 3, days: 9 }, notes: [] }] });
  expect(unrecorded).toMatchObject({ code: 1, stderr: expect.stringContaining("1 fault.") });
  expect(unrecorded.stdout).toMatch(/fault {2}The log begins after seal 3 .* no entry records/);
});

test("--commit keeps the heads in a git repository, and a chain that was written again fails against them", async () => {
  await using admin = await administration();
  const { orgId = "" } = await admin.json("orgs", "create", "Acme");
  const file = join(admin.folder, "patchbay.db");
  const store = await openStore(`sqlite:${file}`);
  await store.audit.seal({ settleMs: 0 });
  const git = (...args: string[]) =>
    promisify(execFile)("git", ["-C", admin.folder, "-c", "user.name=a", "-c", "user.email=a@example.com", ...args]);
  await git("init", "--quiet");
  await git("config", "user.name", "a");
  await git("config", "user.email", "a@example.com");
  const heads = join(admin.folder, "heads.txt");

  const first = await admin.run("audit", "verify", "--commit", heads);
  await store.audit.record([{ orgId, action: "org.renamed" }]);
  for (let sealed = 0; sealed < 1;) sealed += await store.audit.seal({ settleMs: 0 });
  const second = await admin.run("audit", "verify", "--commit", heads);
  await store.close();
  using database = new DatabaseSync(file);
  database.exec("delete from audit_seals; delete from audit_chains; delete from audit_heads");
  const again = await openStore(`sqlite:${file}`);
  await again.audit.seal({ settleMs: 0 });
  await again.close();
  const forged = await admin.run("audit", "verify", "--commit", heads);

  expect([first.code, second.code]).toEqual([0, 0]);
  expect((await git("log", "--format=%s")).stdout).toBe("Record audit heads\nRecord audit heads\n");
  expect(await readFile(heads, "utf8")).toMatch(
    new RegExp(`^\\S+Z ${orgId} 1:[0-9a-f]{64}\n\\S+Z ${orgId} 2:[0-9a-f]{64}\n$`),
  );
  expect(forged).toMatchObject({ code: 1, stdout: expect.stringContaining("fault") });
});
