import { stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { administration } from "./support/administration.ts";
import { runCommand } from "./support/command.ts";

test("an organisation is created in a tier and listed", async () => {
  await using admin = await administration();
  const org = await admin.json("orgs", "create", "Acme", "--tier", "starter");
  expect(org).toEqual({ orgId: expect.stringMatching(/^org_/), name: "Acme", tier: "starter" });
  expect(await admin.json("orgs", "list")).toEqual({ items: [org] });
  expect((await admin.run("orgs", "list")).stdout).toContain("Acme");
});

test("an unknown tier is refused with the known ones", async () => {
  await using admin = await administration();
  const { code, stderr } = await admin.run("orgs", "create", "Acme", "--tier", "gold");
  expect(code).toBe(1);
  expect(stderr).toContain("sandbox, starter, growth, scale");
});

test("an agent is created with a key, updated and deleted", async () => {
  await using admin = await administration();
  const made = await admin.json("agents", "create", "Desk", "--instructions", "Be brief.");
  expect(made).toEqual({
    agentId: expect.stringMatching(/^agt_/),
    name: "Desk",
    orgId: expect.stringMatching(/^org_/),
    keyId: expect.stringMatching(/^key_/),
    apiKey: expect.stringMatching(/^service_live_[0-9A-Za-z]{36}$/),
  });
  const agentId = made["agentId"] ?? "";
  expect(await admin.json("agents", "update", agentId, "--name", "Office")).toMatchObject({
    name: "Office",
    instructions: "Be brief.",
  });
  await admin.json("agents", "delete", agentId);
  expect(await admin.json("agents", "list")).toEqual({ items: [] });
});

test("an agent can require a confirmation of wider access", async () => {
  await using admin = await administration();
  const { agentId = "" } = await admin.json("agents", "create", "Desk");
  expect((await admin.json("agents", "list")).items).toMatchObject([{ agentId, accessChanges: "follow" }]);

  const changed = await admin.json("agents", "update", agentId, "--access-changes", "confirm");

  expect(changed).toMatchObject({ name: "Desk", accessChanges: "confirm" });
  expect((await admin.json("agents", "list")).items).toMatchObject([{ agentId, accessChanges: "confirm" }]);
  expect((await admin.run("agents", "update", agentId, "--access-changes", "ask")).stderr).toContain("follow, confirm");
});

test("rotation replaces the secret of a credential; the old one works for the overlap", async () => {
  await using admin = await administration();
  const { agentId = "" } = await admin.json("agents", "create", "Desk");
  const key = await admin.json("keys", "create", "--agent", agentId, "--roles", "a", "--label", "shop");
  const { tokenId = "" } = await admin.json("tokens", "create", "--agent", agentId);

  const rotated = await admin.json("keys", "rotate", key["keyId"]!, "--overlap", "2h");
  const atOnce = await admin.json("tokens", "rotate", tokenId, "--overlap", "0");

  expect(rotated).toEqual({
    keyId: expect.stringMatching(/^key_/),
    agentId,
    apiKey: expect.stringMatching(/^service_live_/),
    roles: ["a"],
    replaced: { keyId: key["keyId"], endsAt: expect.any(String) },
  });
  expect(atOnce).toMatchObject({ accessToken: expect.stringMatching(/^patchbay_at_/), replaced: { tokenId } });
  const { items: keys } = await admin.json("keys", "list", "--agent", agentId);
  expect(keys.slice(1)).toMatchObject([
    { label: "shop", expiresAt: (rotated as unknown as { replaced: { endsAt: string } }).replaced.endsAt },
    { keyId: rotated["keyId"], label: "shop", expiresAt: null },
  ]);
  const { items: tokens } = await admin.json("tokens", "list", "--agent", agentId);
  expect(tokens).toMatchObject([{ tokenId, revokedAt: expect.any(String) }, { revokedAt: null }]);
});

test("rotation rejects a malformed overlap and a revoked credential", async () => {
  await using admin = await administration();
  const { keyId = "" } = await admin.json("agents", "create", "Desk");

  expect((await admin.run("keys", "rotate", keyId, "--overlap", "8d")).stderr).toContain("at most 7 days");
  await admin.json("keys", "revoke", keyId);
  const { code, stderr } = await admin.run("keys", "rotate", keyId);

  expect(code).toBe(1);
  expect(stderr).toContain("Create a new one");
});

test("credentials of each kind are created, listed without their secret, and revoked", async () => {
  await using admin = await administration();
  const { agentId = "" } = await admin.json("agents", "create", "Desk");
  const key = await admin.json("keys", "create", "--agent", agentId, "--roles", "a, b", "--label", "shop");
  expect(key).toEqual({ keyId: expect.any(String), agentId, apiKey: expect.any(String), roles: ["a", "b"] });
  const runtimeKey = await admin.json("runtime-keys", "create", "--agent", agentId);
  expect(runtimeKey).toEqual({ keyId: expect.any(String), agentId, runtimeKey: expect.any(String) });
  const token = await admin.json("tokens", "create", "--agent", agentId);
  expect(token).toEqual({
    tokenId: expect.any(String),
    agentId,
    accessToken: expect.any(String),
    expiresAt: expect.any(String),
  });

  const { stdout } = await admin.run("keys", "list", "--agent", agentId, "--json");
  expect(stdout).toContain('"label":"shop"');
  expect(stdout).not.toContain(key["apiKey"]);
  expect(stdout).not.toContain("hash");

  await admin.json("keys", "revoke", key["keyId"] ?? "");
  await admin.json("tokens", "revoke", token["tokenId"] ?? "");
  expect((await admin.run("keys", "list", "--agent", agentId)).stdout).toMatch(/shop .* revoked 2/);
  expect((await admin.json("tokens", "list", "--agent", agentId)).items[0]?.["revokedAt"]).not.toBeNull();
});

test("credits are granted in dollars and shown", async () => {
  await using admin = await administration();
  const { orgId = "" } = await admin.json("orgs", "create", "Acme", "--tier", "growth");
  expect(await admin.json("credits", "show", "--org", orgId)).toEqual({ orgId, balanceUsd: 0 });
  expect(await admin.json("credits", "grant", "--org", orgId, "12.50")).toEqual({ orgId, balanceUsd: 12.5 });
});

test("an unknown id exits 1 and names the command that lists ids", async () => {
  await using admin = await administration();
  await admin.json("orgs", "create", "Acme");
  const { code, stderr } = await admin.run("keys", "revoke", "key_none");
  expect(code).toBe(1);
  expect(stderr).toContain("patchbay keys list");
});

test("runs and the audit log of an agent are listed", async () => {
  await using admin = await administration();
  const { agentId = "" } = await admin.json("agents", "create", "Desk");
  expect(await admin.json("runs", "list", "--agent", agentId)).toEqual({ items: [] });
  const { items } = await admin.json("audit", "list", "--agent", agentId);
  expect(items.map(({ action }) => action)).toContain("agent.created");
});

test("the audit log is filtered, read by pages, and read for an organisation", async () => {
  await using admin = await administration();
  const { orgId = "" } = await admin.json("orgs", "create", "Acme");
  const { agentId = "", keyId = "" } = await admin.json("agents", "create", "Desk", "--org", orgId);
  await admin.json("keys", "revoke", keyId);
  await admin.json("credits", "grant", "--org", orgId, "5");
  const list = (...args: string[]) => admin.json("audit", "list", ...args);
  const actions = async (...args: string[]) => (await list(...args)).items.map(({ action }) => action);

  expect(await actions("--agent", agentId, "--action", "key")).toEqual(["key.revoked", "key.created"]);
  expect(await actions("--agent", agentId, "--action", "key.revoked", "--since", "1h")).toEqual(["key.revoked"]);
  expect(await actions("--agent", agentId, "--since", "2099-01-01")).toEqual([]);
  expect(await actions("--org", orgId)).toEqual([
    "credits.granted",
    "key.revoked",
    "key.created",
    "agent.created",
    "org.created",
  ]);
  const { nextCursor = "" } = await list("--org", orgId, "--limit", "2");
  expect(await actions("--org", orgId, "--limit", "2", "--cursor", nextCursor)).toEqual([
    "key.created",
    "agent.created",
  ]);
  expect((await admin.run("audit", "list", "--org", orgId, "--limit", "1")).stdout).toContain(
    "More entries: --cursor ",
  );
});

test("the audit log needs an agent or an organisation, and a valid time", async () => {
  await using admin = await administration();
  const { agentId = "" } = await admin.json("agents", "create", "Desk");

  expect(await admin.run("audit", "list")).toMatchObject({ code: 2 });
  const { code, stderr } = await admin.run("audit", "list", "--agent", agentId, "--since", "yesterday");
  expect(code).toBe(1);
  expect(stderr).toContain("24h");
});

test("backup writes a usable copy and never overwrites a file", async () => {
  await using admin = await administration();
  const org = await admin.json("orgs", "create", "Acme");
  const file = join(admin.folder, "copy.db");
  expect(await admin.json("backup", file)).toEqual({ file, sizeBytes: (await stat(file)).size });
  const copy = await runCommand(["orgs", "list", "--json", "--database", `sqlite:${file}`]);
  expect(JSON.parse(copy.stdout)).toEqual({ items: [org] });
  expect((await admin.run("backup", file)).stderr).toContain("never overwrite files");
});

test("db restore restores a backup and reports the number of ended runs", async () => {
  await using admin = await administration();
  const backup = join(admin.folder, "backup.db");
  await admin.json("orgs", "create", "Acme");
  await admin.json("backup", backup);
  await admin.json("orgs", "create", "Later");

  const refused = await admin.run("db", "restore", backup);
  const restored = await admin.json("db", "restore", backup, "--force");

  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("Add --force to replace it") });
  const database = join(admin.folder, "patchbay.db");
  expect(restored).toEqual({ file: backup, database, endedRuns: 0, replaced: `${database}.before-restore` });
  expect((await admin.json("orgs", "list")).items).toMatchObject([{ name: "Acme" }]);
  expect((await admin.run("db", "end-runs")).stdout).toBe("Ended 0 runs that were in progress.\n");
});

test("members are invited, linked again, listed and removed, except the last owner", async () => {
  await using admin = await administration();
  await admin.json("orgs", "create", "Acme");
  const at = ["--public-url", "https://patchbay.example.com"];
  const invited = await admin.json("members", "invite", "Ann@Example.com", "--role", "owner", ...at);
  expect(invited).toMatchObject({ email: "ann@example.com", role: "owner", active: false });
  expect(invited["link"]).toMatch(/^https:\/\/patchbay\.example\.com\/console\/link#[0-9A-Za-z]{43}$/);

  const { memberId = "" } = invited;
  expect(await admin.json("members", "link", memberId, ...at)).not.toMatchObject({ link: invited["link"] });
  expect((await admin.json("members", "list")).items).toMatchObject([{ memberId, email: "ann@example.com" }]);
  const taken = await admin.run("members", "invite", "ann@example.com", "--role", "viewer");
  expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining("ann@example.com is already a member") });
  const last = await admin.run("members", "remove", memberId);
  expect(last).toMatchObject({ code: 1, stderr: expect.stringContaining("last owner") });

  const { memberId: viewer = "" } = await admin.json("members", "invite", "bo@example.com", "--role", "viewer");
  await admin.json("members", "remove", viewer);
  expect((await admin.json("members", "list")).items).toHaveLength(1);
  expect((await admin.run("members", "link", viewer)).stderr).toContain("members list");
});

test("a key with the right to decide approvals shows it, and a rotation keeps it", async () => {
  await using admin = await administration();
  const { agentId = "" } = await admin.json("agents", "create", "Desk");
  const made = await admin.json("keys", "create", "--agent", agentId, "--can", "approve", "--task-model", "titles-1");
  expect(made).toMatchObject({ can: ["approve"], roles: null });

  expect(await admin.json("keys", "rotate", made["keyId"] ?? "")).toMatchObject({ can: ["approve"] });
  const { items } = await admin.json("keys", "list", "--agent", agentId);
  expect((items as unknown as object[]).filter((item) => "can" in item)).toHaveLength(2);
  const models = (items as unknown as { taskModel?: string }[]).map(({ taskModel }) => taskModel);
  expect(models).toEqual([undefined, "titles-1", "titles-1"]);
  const { code, stderr } = await admin.run("keys", "create", "--agent", agentId, "--can", "anything");
  expect([code, stderr]).toEqual([2, expect.stringContaining("the rights are approve and check")]);
});
