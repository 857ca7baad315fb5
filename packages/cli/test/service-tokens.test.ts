import { join } from "node:path";
import { openStore } from "@patchbay/control-plane/admin";
import { expect, test } from "vitest";
import { administration } from "./support/administration.ts";

test("a service token is created, listed without its secret, rotated and revoked", async () => {
  await using admin = await administration();
  const { orgId } = await admin.json("orgs", "create", "Acme");
  const tokens = (...args: string[]) => admin.json("service-tokens", ...args);
  const scopes = ["--scopes", "keys:write,agents:read"];

  const created = await tokens("create", ...scopes, "--label", "ci", "--expires-in-days", "2");
  const rotated = await tokens("rotate", String(created["tokenId"]), "--overlap", "0");
  await tokens("revoke", String(rotated["tokenId"]));

  expect(created).toMatchObject({ orgId, scopes: ["agents:read", "keys:write"] });
  expect(created["serviceToken"]).toMatch(/^service_admin_/);
  expect(created["expiresAt"]).toMatch(/^\d{4}-/);
  expect(rotated).toMatchObject({ scopes: created["scopes"], replaced: { tokenId: created["tokenId"] } });
  const list = await tokens("list");
  expect(list).toMatchObject({ items: [{ label: "ci", state: "revoked" }, { tokenId: created["tokenId"] }] });
  expect(JSON.stringify(list)).not.toContain(created["serviceToken"]);
  const audit = await admin.json("audit", "list", "--org", String(orgId), "--action", "service_token");
  expect(audit["items"]).toMatchObject([
    { action: "service_token.revoked" },
    { action: "service_token.rotated" },
    { action: "service_token.created" },
  ]);
});

test("the audit log is exported as NDJSON, and continues at a cursor", async () => {
  await using admin = await administration();
  const { orgId = "" } = await admin.json("orgs", "create", "Acme");
  await admin.json("agents", "create", "Desk");
  // Entries of the last 10 s are not exported, because others may still appear before them.
  const store = await openStore(`sqlite:${join(admin.folder, "patchbay.db")}`);
  await store.engine.db
    .updateTable("audit")
    .set((eb) => ({ created_at: eb("created_at", "-", 120_000) }))
    .execute();
  await store.close();

  const { stdout } = await admin.run("audit", "export");
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, string>);
  const rest = await admin.run("audit", "export", "--org", orgId, "--cursor", lines[0]!["cursor"]!);
  const none = await admin.run("audit", "export", "--since", "1m");

  expect(lines.map(({ action }) => action)).toEqual(["org.created", "agent.created", "key.created"]);
  expect(rest.stdout.trim().split("\n")).toHaveLength(2);
  expect(none).toMatchObject({ code: 0, stdout: "" });
});

test("an unknown scope is a usage error that lists the scopes", async () => {
  await using admin = await administration();
  const wrong = await admin.run("service-tokens", "create", "--scopes", "agents:write,runs:read");
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("runs:read is not a scope") as string });
});
