import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { AdminError } from "@patchbay/server/accounts/admin-error";
import { endOpenRuns, restoreBackup } from "../../src/start/restore.ts";
import { BackupFailed } from "@patchbay/store/backup";
import { StoreInUse } from "@patchbay/store/dialect/sqlite-files";
import { lockStore, openStore } from "@patchbay/store/open";
import { requestOf, yes } from "../../../store/test/contract/asking-runs.ts";
import { event, sampleCall, sampleRun, sampleTurn } from "../../../store/test/contract/world.ts";
import { postgresPlace } from "../../../store/test/postgres-place.ts";
import { sqlitePlace } from "../../../store/test/sqlite-place.ts";

const owned = { orgId: "org_1", agentId: "agt_1" };

/** A database with one run under way, and a backup of that moment. */
async function backedUp() {
  const place = await sqlitePlace();
  const store = await openStore(place.url);
  await store.accounts.createOrg({ orgId: owned.orgId, name: "Desk", tier: "starter" });
  await store.accounts.createAgent({ ...owned, name: "Clerk", instructions: "" });
  await store.accounts.grant(owned.orgId, 1_000);
  const idempotency = { key: "order-7", bodyHash: "b" };
  const run = sampleRun({ ...owned, idempotency, reserveMicros: 100 });
  await store.runs.start(run);
  const backup = join(place.folder, "backup.db");
  return { ...place, store, run, backup };
}

test("a restore ends the open runs of the backup, also queued ones", async () => {
  await using place = await backedUp();
  const { store, run, backup } = place;
  const lease = { runId: run.runId, fence: 1 };
  await store.runs.commit(lease, { events: [event(1)], turn: sampleTurn(0), calls: [sampleCall("c1")] });
  for (let i = 0; i < 2; i++) await store.runs.start(sampleRun({ ...owned, threadId: run.threadId, newThread: false }));
  await store.backup(backup);
  await store.runs.commit(lease, { events: [event(2)] });
  await store.close();

  expect(await restoreBackup(place.url, backup, { force: true })).toEqual({
    database: place.file,
    endedRuns: 3,
    replaced: `${place.file}.before-restore`,
  });

  const restored = await openStore(place.url);
  expect(await restored.runs.claim({ owner: "x", leaseMs: 1000, limit: 9 })).toEqual([]);
  expect(await restored.runs.get(owned.agentId, run.runId)).toMatchObject({
    status: "cancelled",
    lastSeq: 2,
    result: { success: false, code: "cancelled", errorMessage: expect.stringContaining("restored from a backup") },
  });
  const [, last] = await restored.runs.events(run.runId, 0, 9);
  expect(JSON.parse(last!.body)).toMatchObject({ type: "error", code: "cancelled" });
  await expect(restored.runs.commit(lease, { events: [event(2)] })).rejects.toThrow("another claim ended fence");
  expect(await restored.accounts.balance(owned.orgId)).toBe(1_000);
  const again = await restored.runs.start(sampleRun({ ...owned, idempotency: { key: "order-7", bodyHash: "b" } }));
  expect(again).toMatchObject({ kind: "joined", runId: run.runId });
  await restored.close();
  const files = (await readdir(place.folder)).filter((file) => file.startsWith("patchbay.db")).toSorted();
  expect(files.filter((file) => !file.includes(".lock"))).toEqual(["patchbay.db", "patchbay.db.before-restore"]);
  expect((await stat(place.file)).mode & 0o777).toBe(0o600);
});

test("open runs of a restored Postgres database are ended, also suspects and queued ones", async () => {
  await using place = await postgresPlace();
  const { url } = place.database;
  const store = await openStore(url);
  await store.accounts.createOrg({ orgId: owned.orgId, name: "Desk", tier: "starter" });
  await store.accounts.createAgent({ ...owned, name: "Clerk", instructions: "" });
  const run = sampleRun(owned);
  await store.runs.start(run);
  await store.runs.start(sampleRun({ ...owned, threadId: run.threadId, newThread: false }));
  await store.runs.start(sampleRun(owned));
  await place.execute(`update runs set crashes = 99 where id = '${run.runId}'`);
  await store.close();

  expect(await endOpenRuns(url)).toBe(3);

  expect(await endOpenRuns(url)).toBe(0);
  expect(await place.rows("select distinct status from runs")).toEqual([{ status: "cancelled" }]);
});

test("a restore ends a run that waited for an approval, and its approval cannot be decided any more", async () => {
  await using place = await backedUp();
  const { store, run, backup } = place;
  const lease = { runId: run.runId, fence: 1 };
  const requested = ["a", "b"].map((name) => requestOf({ clock: Date }, name));
  const calls = requested.map(({ callId, approvalId }, position) => ({
    ...sampleCall(callId, { position }),
    approval: { approvalId } as never,
  }));
  await store.runs.commit(lease, { events: [event(1)], turn: sampleTurn(0), calls, approvals: { requested } });
  await store.runs.commit(lease, { wait: { remainingMs: 100_000 } });
  await store.approvals.decide(owned.agentId, "apr_a", yes);
  await store.backup(backup);
  await store.close();

  expect(await restoreBackup(place.url, backup, { force: true })).toMatchObject({ endedRuns: 1 });

  const restored = await openStore(place.url);
  expect(await restored.runs.get(owned.agentId, run.runId)).toMatchObject({ status: "cancelled", lastSeq: 4 });
  const bodies = (await restored.runs.events(run.runId, 1, 9)).map(({ body }) => JSON.parse(body));
  expect(bodies).toMatchObject([
    { type: "approvalDecision", approvalId: "apr_a", decision: "approved" },
    { type: "approvalDecision", approvalId: "apr_b", decision: "cancelled" },
    { type: "error", code: "cancelled" },
  ]);
  expect(await restored.approvals.decide(owned.agentId, "apr_b", yes)).toMatchObject({
    decided: false,
    approval: { status: "cancelled" },
  });
  expect(await restored.runs.wake({ all: true })).toEqual([]);
  await restored.close();
});

test("an existing database is kept unless the restore is forced, and while a server uses it", async () => {
  await using place = await backedUp();
  await place.store.backup(place.backup);
  await place.store.accounts.renameOrg(owned.orgId, "Newer");
  await place.store.close();

  await expect(restoreBackup(place.url, place.backup)).rejects.toThrow(/patchbay\.db exists\. Add --force/);
  {
    await using _server = await lockStore(place.url);
    await expect(restoreBackup(place.url, place.backup, { force: true })).rejects.toThrow(StoreInUse);
  }

  const kept = await openStore(place.url);
  expect(await kept.accounts.getOrg(owned.orgId)).toMatchObject({ name: "Newer" });
  await kept.close();
});

test("a file that is not a backup is refused and the database stays unchanged", async () => {
  await using place = await backedUp();
  await place.store.close();
  const text = join(place.folder, "notes.txt");
  await writeFile(text, "no database");

  const restore = (file: string) => restoreBackup(place.url, file, { force: true });
  await expect(restore(text)).rejects.toThrow(BackupFailed);
  await expect(restore(join(place.folder, "missing.db"))).rejects.toThrow(/missing\.db is not a backup/);
  await expect(restore(place.file)).rejects.toThrow("is the database itself");
  await expect(restoreBackup("postgres://localhost/patchbay", text)).rejects.toThrow(AdminError);

  const kept = await openStore(place.url);
  expect(await kept.accounts.getOrg(owned.orgId)).toMatchObject({ name: "Desk" });
  await kept.close();
});
