import { expect, test } from "vitest";
import { adminCommandLine } from "../src/printed-commands.ts";
import { administration } from "./support/administration.ts";
import { startCommand } from "./support/command.ts";

test("links and commands of administration begin with the address that serve was started with", async () => {
  await using admin = await administration();
  const { agentId = "" } = await admin.json("agents", "create", "Desk");
  await using serve = startCommand(["serve", "--port", "0", "--data-dir", admin.folder, "--json"]);
  const { baseUrl } = JSON.parse(await serve.seen(/^\{"ready".*\}$/m)) as { baseUrl: string };

  const invited = await admin.json("members", "invite", "ann@example.com", "--role", "owner");
  expect(invited["link"]).toMatch(`${baseUrl}/console/link#`);
  const linked = await admin.json("members", "link", invited["memberId"] ?? "");
  expect(linked["link"]).toMatch(`${baseUrl}/console/link#`);
  const key = await admin.run("keys", "create", "--agent", agentId);
  expect(key.stdout).toContain(`patchbay query "What can you do?" --url ${baseUrl} --agent ${agentId}\n`);
  const runtimeKey = await admin.run("runtime-keys", "create", "--agent", agentId);
  expect(runtimeKey.stdout).toContain(`patchbay connect service.ts --url ${baseUrl} --agent ${agentId}\n`);
});

test("the public address comes first, and --public-url of the command before it", async () => {
  await using admin = await administration();
  const options = ["--port", "0", "--data-dir", admin.folder, "--public-url", "https://desk.example"];
  await using serve = startCommand(["serve", ...options]);
  await serve.seen("Patchbay serves at https://desk.example");
  await serve.seen("https://desk.example/console/link#");
  await admin.run("orgs", "create", "Acme");

  const invite = ["members", "invite", "ann@example.com", "--role", "owner"];
  expect((await admin.json(...invite))["link"]).toMatch("https://desk.example/console/link#");
  const other = await admin.json(...invite.with(2, "bob@example.com"), "--public-url", "https://other.example");
  expect(other["link"]).toMatch("https://other.example/console/link#");
});

test("a wildcard host is printed as the address of this machine", async () => {
  await using admin = await administration();
  await using serve = startCommand(["serve", "--host", "0.0.0.0", "--port", "0", "--data-dir", admin.folder, "--json"]);

  expect(await serve.seen(/^\{"ready".*\}$/m)).toMatch(/"baseUrl":"http:\/\/127\.0\.0\.1:\d+"/);
});

test("an empty list suggests the command with the database that it was read from", async () => {
  await using admin = await administration();
  const { agentId = "" } = await admin.json("agents", "create", "Desk");

  const { stdout } = await admin.run("runtime-keys", "list", "--agent", agentId);

  expect(stdout).toContain(`\`patchbay runtime-keys create --agent ${agentId} --data-dir ${admin.folder}\``);
});

test("an agent of a named organisation does not create a database", async () => {
  await using admin = await administration();

  const { code, stderr } = await admin.run("agents", "create", "Desk", "--org", "org_x");

  expect(code).toBe(1);
  expect(stderr).toContain(`No database at ${admin.folder}/patchbay.db`);
});

test.each([
  [{ dataDir: ".patchbay" }, "patchbay orgs list"],
  [{ dataDir: "it's here" }, `patchbay orgs list --data-dir 'it'\\''s here'`],
  [{ dataDir: ".patchbay", database: "sqlite:/var/desk.db" }, "patchbay orgs list --database sqlite:/var/desk.db"],
  [{ dataDir: ".patchbay", database: "postgres://u:pw@db/desk" }, 'patchbay orgs list --database "$PATCHBAY_DATABASE"'],
])("the options %o are printed as a shell reads them back, without a password", (options, line) => {
  expect(adminCommandLine("orgs list", options)).toBe(line);
});
