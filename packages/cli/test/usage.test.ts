import { expect, test } from "vitest";
import { runCommand, temporaryFolder } from "./support/command.ts";

test("--help names every command and exits 0", async () => {
  const { code, stdout } = await runCommand(["--help"]);
  expect(code).toBe(0);
  for (const name of [
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

test.each(["dev", "serve", "connect", "query", "doctor", "backup", "agents create", "keys create", "members invite"])(
  "%s has a help page with an example and its variables",
  async (words) => {
    const { code, stdout } = await runCommand([...words.split(" "), "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain("Examples:");
    expect(stdout).toContain("PATCHBAY_");
  },
);

test.each([
  ["an unknown command", ["nonsense"]],
  ["no command", []],
  ["a missing argument", ["query"]],
  ["a missing option", ["keys", "create"]],
  ["an unknown option", ["serve", "--prot", "1"]],
  ["a port that is none", ["serve", "--port", "80x"]],
  ["an address that is none", ["query", "x", "--url", "ftp://x"]],
])("%s exits 2 and says why on stderr", async (_what, args) => {
  const { code, stdout, stderr } = await runCommand(args);
  expect(code).toBe(2);
  expect(stdout).toBe("");
  expect(stderr).not.toBe("");
});

const failures: [what: string, args: string[], reason: string, env?: Record<string, string>][] = [
  ["a database address of another kind", ["serve", "--database", "mysql://x/y"], "sqlite:PATH"],
  ["--nats beside an embedded database", ["serve", "--nats", "nats://x"], "Name a Postgres database"],
  ["a database of no known kind", ["orgs", "list", "--database", "mysql://x"], "sqlite:PATH"],
  ["a file that is not there", ["dev", "nowhere.ts"], "There is no file"],
  ["a folder without functions", ["dev"], "No service.ts or functions.ts in this folder"],
  ["a bad variable", ["serve"], "PATCHBAY_PROVIDER must be one of", { PATCHBAY_PROVIDER: "acme" }],
];

test.each(failures)("%s exits 1 with a one-line reason", async (_what, args, reason, env = {}) => {
  await using folder = await temporaryFolder();
  const { code, stdout, stderr } = await runCommand(args, { cwd: folder.path, env });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain(reason);
  expect(stderr.trimEnd().split("\n")).toHaveLength(1);
});
