import { join } from "node:path";
import { type Agent, openStore } from "@patchbay/control-plane/admin";
import type { Manifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { checkReviews } from "../src/doctor/local-checks.ts";
import { runCommand, temporaryFolder } from "./support/command.ts";

const HASHES = ["1".repeat(64), `22222222${"a".repeat(56)}`, `22222222${"b".repeat(56)}`];

const ADA = { memberId: "mem_ada", email: "ada@example.com", name: "Ada", role: "owner", passwordHash: "x" } as const;

/** An agent that confirms changes of access, and a service with two newer deployments that allow more roles. */
async function withWaitingSets() {
  const folder = await temporaryFolder();
  const run = (...args: string[]) => runCommand([...args, "--data-dir", folder.path]);
  const { agentId } = JSON.parse((await run("agents", "create", "Desk", "--json")).stdout) as { agentId: string };
  await run("agents", "update", agentId, "--access-changes", "confirm");
  const store = await openStore(`sqlite:${join(folder.path, "patchbay.db")}`);
  for (const [i, manifestHash] of HASHES.entries()) {
    const manifest = manifestFor(["admin", "support", "guest"].slice(0, i + 1));
    await store.runtimes.saveManifest(agentId, manifestHash, manifest);
    const set = { service: "desk", deployment: `v${i}`, named: true, manifestHash };
    await store.runtimes.noteSet(agentId, set, manifest, { keyId: "rtk_1" });
  }
  const connection = { connectionId: "con_1", replicaId: "rep_1", concurrency: 1, draining: false };
  const runtime = { agentId, service: "desk", deployment: "v0", instanceId: "one", manifestHash: HASHES[0]! };
  await store.runtimes.connectionOpened({ ...runtime, ...connection });
  await store.members.create({ ...ADA, orgId: (await store.accounts.listOrgs())[0]!.orgId });
  await store.close();
  return {
    agentId,
    run,
    accept: (set: string, ...more: string[]) => run("agents", "accept-access", agentId, set, ...more),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

function manifestFor(roles: string[]): Manifest {
  const wipe = {
    name: "wipe_data",
    description: "Wipes the data.",
    inputSchema: { type: "object" },
    roles,
    conditional: false,
    effect: "destructive" as const,
    idempotent: false,
    timeoutMs: 1_000,
  };
  return { name: "desk", preparesContext: false, functions: [wipe] };
}

test("a waiting function set is confirmed by the first characters of its hash and audited", async () => {
  await using waiting = await withWaitingSets();

  const shown = await waiting.accept(HASHES[1]!.slice(0, 9));
  const asJson = await waiting.accept(HASHES[2]!, "--json");

  expect(shown.stdout).toContain(`Confirmed deployment v1 of desk (function set ${HASHES[1]}).`);
  expect(shown.stdout).toContain("  support gained wipe_data.");
  expect(JSON.parse(asJson.stdout)).toMatchObject({
    agentId: waiting.agentId,
    manifestHash: HASHES[2],
    service: "desk",
    deployment: "v2",
    widenings: [{ kind: "roles", functionName: "wipe_data" }],
  });
  const audit = await waiting.run("audit", "list", "--agent", waiting.agentId, "--json");
  expect(JSON.parse(audit.stdout).items.slice(0, 2)).toMatchObject([
    { action: "access.confirmed", manifestHash: HASHES[2] },
    { action: "access.confirmed", manifestHash: HASHES[1] },
  ]);
});

test("an ambiguous, short, unknown or confirmed set is refused with a fix", async () => {
  await using waiting = await withWaitingSets();
  const refused = async (set: string): Promise<string> => {
    const { code, stderr } = await waiting.accept(set);
    expect(code).toBe(1);
    return stderr;
  };

  expect(await refused("2222222")).toContain("Give at least 8 characters");
  expect(await refused("22222222")).toContain("2 function sets begin with 22222222");
  expect(await refused("33333333")).toContain(`Waiting: ${HASHES[1]} (deployment v1 of desk)`);
  expect(await refused(HASHES[0]!)).toContain("is not waiting for a confirmation");
  expect((await waiting.run("agents", "accept-access", "agt_none", HASHES[1]!)).stderr).toContain("no agent agt_none");
});

test("agents review signs off the sets in force for a member", async () => {
  await using waiting = await withWaitingSets();
  const review = (...more: string[]) => waiting.run("agents", "review", waiting.agentId, ...more);

  const signed = await review("--sign", HASHES[0]!, "--member", ADA.email);

  expect(signed).toMatchObject({ code: 0, stderr: "" });
  expect(signed.stdout).toMatch(/desk +1{64} +none reported\nSigned off by Ada at /);
  expect((await review("--sign", HASHES[0]!)).stderr).toContain("A member signs off. Name one with --member.");
});

test("doctor warns of access that differs from the signed one, or whose review is due", async () => {
  const signed = { by: "Ada", at: "2030-01-01T00:00:00.000Z", dueAt: "2030-04-01T00:00:00.000Z" };
  const agent = { agentId: "agt_1", name: "Desk" } as Agent;
  const check = (change: object) =>
    checkReviews({ accessReview: async () => ({ sets: [], signed, changed: [], isDue: false, ...change }) }, [agent]);
  const finding = { name: "access", status: "warn", fix: "patchbay agents review agt_1" };

  expect(await check({})).toEqual([]);
  const due = `Desk: The access review is due since ${signed.dueAt}.`;
  expect(await check({ isDue: true })).toEqual([{ ...finding, message: due }]);
  const changed = `Desk: The access of desk differs from what was signed off at ${signed.at}.`;
  expect(await check({ isDue: true, changed: ["desk"] })).toEqual([{ ...finding, message: changed }]);
});
