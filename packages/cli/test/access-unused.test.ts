import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore, startControlPlane } from "@patchbay/control-plane/admin";
import { silentLog } from "@patchbay/kit";
import { expect, test } from "vitest";
import { administration } from "./support/administration.ts";
import { runCommand } from "./support/command.ts";

const SERVICE = join(import.meta.dirname, "../../../examples/quickstart/service.ts");

test("unused rights are shown with suggested role lists, which are written on request", async () => {
  await using admin = await administration();
  const { agentId = "", orgId = "" } = await admin.json("agents", "create", "Desk");
  const store = await openStore(`sqlite:${join(admin.folder, "patchbay.db")}`);
  const functions = ["close_ticket", "get_ticket", "list_opening_hours"].map((name) => ({
    name,
    roles: name === "get_ticket" ? ["staff", "support"] : name === "close_ticket" ? ["support"] : "everyone",
  }));
  const manifest = { name: "quickstart", preparesContext: false, functions };
  const set = { service: "quickstart", deployment: "v1", named: true, manifestHash: "h1" };
  await store.runtimes.saveManifest(agentId, "h1", manifest as never);
  await store.runtimes.noteSet(agentId, set, manifest as never, { keyId: "rtk_1" });
  const about = { orgId, agentId, role: "support", functionName: "get_ticket" };
  await store.audit.record([
    { ...about, action: "call.succeeded" },
    { ...about, role: "staff", functionName: "close_ticket", action: "call.denied", rule: "roles" },
  ]);
  await store.close();
  using database = new DatabaseSync(join(admin.folder, "patchbay.db"));
  database.exec("update function_sets set first_seen_at = first_seen_at - 10 * 86400000");
  const suggestion = join(admin.folder, "roles.json");

  const ask = (...args: string[]) => admin.run("access", SERVICE, "--unused", "--agent", agentId, ...args);
  const shown = await ask("--since", "2d", "--write-suggestion", suggestion);
  const young = await ask("--json");
  const plane = await startControlPlane({
    database: `sqlite:${join(admin.folder, "patchbay.db")}`,
    port: 0,
    log: silentLog,
  });
  await using _plane = { [Symbol.asyncDispose]: () => plane.close({ graceMs: 0 }) };
  const { secret } = await plane.admin.serviceTokens.create({ orgId, scopes: ["audit:read"] });
  const remote = ["--agent", agentId, "--since", "2d", "--url", plane.url, "--service-token", secret];
  const overHttp = await runCommand(["access", "unused", SERVICE, ...remote]);

  expect(shown).toMatchObject({ code: 0, stderr: "" });
  expect(overHttp).toMatchObject({ code: 0, stdout: shown.stdout.replace(/Wrote .*\n/, "") });
  expect(shown.stdout).toMatch(/get_ticket +support +used +1 /);
  expect(shown.stdout).toMatch(/close_ticket +staff +roles +1 /);
  expect(shown.stdout).toContain("They would have refused 0 calls in the period and 0 calls in the whole log.");
  expect(shown.stdout).toMatch(/close_ticket +support +unused +0 +never +10 days/);
  expect(JSON.parse(await readFile(suggestion, "utf8"))).toEqual({
    close_ticket: [],
    get_ticket: ["support"],
    list_opening_hours: [],
  });
  expect(JSON.parse(young.stdout)).toMatchObject({ agentId, suggestion: { close_ticket: ["support"] } });
  expect(await admin.run("access", SERVICE, "--unused")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("Name it with --agent ID"),
  });
});
