import { spawnSync } from "node:child_process";
import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { hasNatsServer } from "@patchbay/test-support/nats";
import { withSystemPath } from "@patchbay/test-support/system-path";
import { testDatabase } from "@patchbay/test-support/postgres";

const at = (name: string) => fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url));

test.runIf(hasNatsServer())("NATS takes its configuration, with any password as a text", () => {
  for (const password of ["abc", "0123456", "12e4"]) {
    const env = { ...withSystemPath(), NATS_PASSWORD: `"${password}"` };
    const { status, stderr } = spawnSync("nats-server", ["--config", at("nats.conf"), "-t"], { env, encoding: "utf8" });
    expect({ status, stderr }).toMatchObject({ status: 0, stderr: expect.stringContaining("is valid") });
  }
});

test.runIf(hasPsql())(
  "Postgres gets a plain role that owns its database, and row-level security applies to it",
  async () => {
    await using base = await testDatabase();
    const [role, password] = [`patchbay_${randomBytes(6).toString("hex")}`, "it's a $pass"];
    const admin = new URL(base.adminUrl);
    await using folder = await temporaryFolder();
    const file = join(folder.path, "password");
    writeFileSync(file, `${password}\n`);
    const made = spawnSync(at("postgres/10-patchbay.sh"), {
      encoding: "utf8",
      env: {
        PATH: process.env["PATH"],
        PGHOST: admin.hostname,
        PGPORT: admin.port || "5432",
        PGPASSWORD: decodeURIComponent(admin.password),
        POSTGRES_USER: decodeURIComponent(admin.username),
        DATABASE_ROLE: role,
        DATABASE_PASSWORD_FILE: file,
      },
    });
    try {
      expect(made).toMatchObject({ status: 0, stderr: "" });
      const own = new URL(base.adminUrl);
      [own.username, own.password, own.pathname] = [role, password, role];
      const client = new Client({ connectionString: own.href });
      await client.connect();
      await client.query("create table mine (org int)");
      await client.query("alter table mine enable row level security");
      await client.query("alter table mine force row level security");
      await expect(client.query("insert into mine values (1)")).rejects.toThrow(/row-level security/);
      const { rows } = await client.query(
        "select rolsuper, rolbypassrls, rolcreatedb, rolcreaterole from pg_roles where rolname = current_user",
      );
      expect(rows).toEqual([{ rolsuper: false, rolbypassrls: false, rolcreatedb: false, rolcreaterole: false }]);
      await client.end();
    } finally {
      await base.query(`drop database if exists ${role}`);
      await base.query(`drop role if exists ${role}`);
    }
  },
);

test.runIf(hasPsql())("the passwords of an existing volume are set from the files, as the README says", async () => {
  await using base = await testDatabase();
  await using folder = await temporaryFolder();
  const [role, password] = [`patchbay_${randomBytes(6).toString("hex")}`, randomBytes(24).toString("hex")];
  await base.query(`create role ${role} login password 'old'`);
  writeFileSync(join(folder.path, "database-password"), password);
  const admin = new URL(base.adminUrl);
  const [define = ""] = /^set_password\(\) \{.*\}$/m.exec(readFileSync(at("README.md"), "utf8"))!;
  const here = define
    .replace(
      "docker compose -f deploy/compose.yaml exec -T postgres psql --set ON_ERROR_STOP=1 --username postgres",
      "psql --set ON_ERROR_STOP=1",
    )
    .replace("deploy/secrets/postgres", folder.path);
  try {
    const { status, stdout } = spawnSync("sh", ["-c", `${here}; set_password ${role} database-password`], {
      encoding: "utf8",
      env: {
        PATH: process.env["PATH"],
        PGHOST: admin.hostname,
        PGPORT: admin.port || "5432",
        PGUSER: decodeURIComponent(admin.username),
        PGPASSWORD: decodeURIComponent(admin.password),
        PGDATABASE: "postgres",
      },
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "ALTER ROLE\n" });
    // A server that trusts all connections accepts any password, so the stored one is compared.
    const [stored] = await base.query(`select rolpassword from pg_authid where rolname = '${role}'`);
    expect(matches(stored!["rolpassword"], password)).toBe(true);
    expect(matches(stored!["rolpassword"], "old")).toBe(false);
  } finally {
    await base.query(`drop role ${role}`);
  }
});

/** True for the password of a stored `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey` (RFC 5803). */
function matches(stored: unknown, password: string): boolean {
  const [, iterations, salt = "", storedKey] = /^SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):/.exec(stored as string)!;
  const salted = pbkdf2Sync(password, Buffer.from(salt, "base64"), Number(iterations), 32, "sha256");
  const clientKey = createHmac("sha256", salted).update("Client Key").digest();
  return createHash("sha256").update(clientKey).digest("base64") === storedKey;
}

test("Postgres gets no role without a password", async () => {
  await using folder = await temporaryFolder();
  const make = (file: Record<string, string>) =>
    spawnSync(at("postgres/10-patchbay.sh"), { env: { PATH: process.env["PATH"], ...file }, encoding: "utf8" });
  const [missing, empty] = [join(folder.path, "missing"), join(folder.path, "empty")];
  writeFileSync(empty, "\n");
  for (const [made, message] of [
    [make({}), "DATABASE_PASSWORD_FILE: names no file"],
    [make({ DATABASE_PASSWORD_FILE: missing }), missing],
    [make({ DATABASE_PASSWORD_FILE: empty }), `is empty in ${empty}`],
  ] as const) {
    expect(made.status).not.toBe(0);
    expect(made.stderr).toContain(message);
  }
});

function hasPsql(): boolean {
  if (spawnSync("psql", ["--version"]).error === undefined) return true;
  console.warn("SKIPPED: no psql found, so deploy/postgres is not run (apt-get install postgresql-client).");
  return false;
}
