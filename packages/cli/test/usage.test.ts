import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand, temporaryFolder } from "./support/command.ts";

test("--help names every command and exits 0", async () => {
  const { code, stdout } = await runCommand(["--help"]);
  expect(code).toBe(0);
  for (const name of [
    "init",
    "dev",
    "serve",
    "connect",
    "query",
    "access",
    "doctor",
    "orgs",
    "agents",
    "keys",
    "runtime-keys",
    "tokens",
    "members",
    "credits",
    "runs",
    "audit",
    "backup",
  ])
    expect(stdout).toMatch(new RegExp(`^  ${name} `, "m"));
});

test.each([
  "init",
  "dev",
  "serve",
  "connect",
  "query",
  "doctor",
  "backup",
  "agents create",
  "keys create",
  "members invite",
])("%s has a help page with an example and its variables", async (words) => {
  const { code, stdout } = await runCommand([...words.split(" "), "--help"]);
  expect(code).toBe(0);
  expect(stdout).toContain("Examples:");
  expect(stdout).toContain("PATCHBAY_");
});

test.each([
  ["an unknown command", ["nonsense"]],
  ["no command", []],
  ["a missing argument", ["query"]],
  ["a missing option", ["keys", "create"]],
  ["an unknown option", ["serve", "--prot", "1"]],
  ["an invalid port", ["serve", "--port", "80x"]],
  ["an invalid address", ["query", "x", "--url", "ftp://x"]],
  ["an empty host", ["serve", "--host", ""]],
  ["an agent update without a change", ["agents", "update", "agt_1"]],
  ["an issuer without an audience", ["serve", "--caller-issuer", "https://id.example"]],
  ["a claim without an issuer", ["serve", "--caller-role-claim", "role"]],
  ["an invalid origin", ["serve", "--cors-origin", "not an origin"]],
  ["an origin with a path", ["serve", "--cors-origin", "https://a.example,https://b.example/path"]],
  ["an origin with a slash", ["dev", "--cors-origin", "https://a.example/"]],
  ["an origin in capitals", ["dev", "--cors-origin", "https://A.example"]],
])("%s exits 2 with the reason on stderr", async (_what, args) => {
  const { code, stdout, stderr } = await runCommand(args);
  expect(code).toBe(2);
  expect(stdout).toBe("");
  expect(stderr).not.toBe("");
});

test("an origin in another form is refused with the one that browsers send", async () => {
  const { code, stderr } = await runCommand(["serve"], { env: { PATCHBAY_CORS_ORIGIN: "https://A.example:443/x" } });
  expect(code).toBe(2);
  expect(stderr).toContain("https://A.example:443/x is not an origin: expected scheme, host and port only");
  expect(stderr).toContain("Did you mean https://a.example?");
});

test.each([["help"], ["help", "serve"]])("%s %s shows help and exits 0", async (...args) => {
  const { code, stdout } = await runCommand(args);
  expect(code).toBe(0);
  expect(stdout).toContain(args.length === 1 ? "Usage: patchbay [options]" : "Usage: patchbay serve [options]");
});

test("commands that read, change or revoke do not create a database", async () => {
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, "mistyped");
  for (const args of [
    ["orgs", "list"],
    ["agents", "list"],
    ["agents", "update", "agt_1", "--name", "x"],
    ["keys", "create", "--agent", "agt_1"],
    ["keys", "revoke", "key_1"],
    ["members", "list"],
    ["credits", "show", "--org", "org_1"],
    ["runs", "list", "--agent", "agt_1"],
    ["audit", "list", "--agent", "agt_1"],
    ["backup", join(folder.path, "copy.db")],
  ]) {
    const { code, stdout, stderr } = await runCommand([...args, "--data-dir", dataDir]);
    expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: "" });
    expect(stderr).toContain(`No database at ${join(dataDir, "patchbay.db")}.`);
  }
  expect(await readdir(folder.path)).toEqual([]);
});

test.each(["orgs", "agents"])("%s create may create a database, and prints it once", async (kind) => {
  await using folder = await temporaryFolder();
  const create = () => runCommand([kind, "create", "A", "--data-dir", folder.path]);
  const [first, second] = [await create(), await create()];
  expect([first.code, second.code]).toEqual([0, 0]);
  expect(first.stderr).toBe(`Created a new database: ${join(folder.path, "patchbay.db")}\n`);
  expect(second.stderr).toBe("");
});

const failures: [what: string, args: string[], reason: string, env?: Record<string, string>][] = [
  ["a database address of another kind", ["serve", "--database", "mysql://x/y"], "sqlite:PATH"],
  ["--nats with an embedded database", ["serve", "--nats", "nats://x"], "Name a Postgres database"],
  ["a database of no known kind", ["orgs", "list", "--database", "mysql://x"], "sqlite:PATH"],
  ["a missing file", ["dev", "nowhere.ts"], " does not exist."],
  ["a folder without functions", ["dev"], "No service.ts or functions.ts in this folder"],
  ["a folder in place of a file", ["dev", "folder"], "/folder is a folder. Name the file in it"],
  [
    "a file as data folder",
    ["serve", "--data-dir", "text"],
    "/text is a file, not a folder. Move it, or choose another",
  ],
  ["a text as database", ["orgs", "list", "--database", "sqlite:text"], "/text is not a SQLite database. Restore"],
  [
    "a folder as database",
    ["serve", "--database", "sqlite:folder"],
    "/folder is a folder, not a database. Name a file",
  ],
  ["a bad variable", ["serve"], "PATCHBAY_PROVIDER must be one of", { PATCHBAY_PROVIDER: "acme" }],
];

test.each(failures)("%s exits 1 with a one-line reason", async (_what, args, reason, env = {}) => {
  await using folder = await temporaryFolder();
  await mkdir(join(folder.path, "folder"));
  await writeFile(join(folder.path, "text"), "This is text, and long enough to be read as a database.");
  const { code, stdout, stderr } = await runCommand(args, { cwd: folder.path, env });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain(reason);
  expect(stderr.trimEnd().split("\n")).toHaveLength(1);
});

test("a folder that this user may not enter is reported with the reason", async () => {
  await using folder = await temporaryFolder();
  await chmod(folder.path, 0o000);
  // Modes do not apply to root, so the command runs as another user.
  const user = process.getuid?.() === 0 ? { uid: 65_534 } : {};
  for (const args of [
    ["orgs", "list"],
    ["orgs", "create", "A"],
    ["serve", "--port", "0"],
  ]) {
    const { code, stdout, stderr } = await runCommand([...args, "--data-dir", folder.path], user);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(`The folder ${folder.path} cannot be read and written by this user (EACCES). Change its`);
    const below = await runCommand([...args, "--data-dir", join(folder.path, "below")], user);
    expect(below.stderr).toContain(`${join(folder.path, "below")} cannot be reached by this user (EACCES). Change who`);
  }
  const doctor = await runCommand(["doctor", "--port", "0", "--data-dir", folder.path], user);
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toMatch(/^fail {2}data folder {2}The folder .* cannot be read and written/m);
  expect(doctor.stdout).toMatch(/^fail {2}database {5}The folder .* cannot be read and written/m);
  await chmod(folder.path, 0o700);
});

test("a .env that is a folder fails with a one-line reason and its path", async () => {
  await using folder = await temporaryFolder();
  await mkdir(join(folder.path, ".env"));
  const { code, stderr } = await runCommand(["orgs", "list"], { cwd: folder.path });
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^error: \S+\/\.env is a folder, but settings are read from a file of this name\. Rename the folder\.\n$/,
  );
});
