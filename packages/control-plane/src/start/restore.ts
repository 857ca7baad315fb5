import { existsSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { AdminError } from "../accounts/admin-error.ts";
import type { RunRecord } from "../ports/records.ts";
import type { Store } from "../ports/stores.ts";
import { failed } from "../run/answer.ts";
import { decided } from "../run/calls/approval.ts";
import { reportOf, runEntry } from "../run/calls/journal.ts";
import { RunFailure } from "../run/run-failure.ts";
import { embeddedFile, lockStore, openStore } from "../store/open.ts";
import { copyBackup } from "../store/backup.ts";

const AT_ONCE = 100;
const LEASE_MS = 60_000;
const RESTORED =
  "Run cancelled: the database was restored from a backup made while this run was in progress. Its function calls after the backup are unknown.";

export interface Restored {
  /** The database file. */
  database: string;
  /** Number of runs that were open in the backup and are cancelled now. */
  endedRuns: number;
}

/**
 * Replaces an embedded database with a backup and cancels the runs that were open in it: resumed from the older state, they
 * would repeat function calls. The database changes only in the last step. Throws `StoreInUse` while a server uses the
 * database, `AdminError` when the database exists and `force` is not set, and `BackupFailed` when the file is not a backup.
 */
export async function restoreBackup(url: string, file: string, { force = false } = {}): Promise<Restored> {
  const database = embeddedFile(url);
  if (database === undefined)
    throw new AdminError(
      "This command restores embedded databases only. Restore a Postgres database with pg_restore, then run: patchbay db end-runs --database postgres://...",
    );
  if (resolve(file) === database) throw new AdminError(`${file} is the database itself. Give the file of a backup.`);
  await using _lock = await lockStore(url);
  if (existsSync(database) && !force)
    throw new AdminError(
      `${database} exists. Add --force to replace it with the backup; its present data is deleted.`,
      "conflict",
    );
  const copy = `${database}.restoring`;
  removeDatabase(copy);
  try {
    await copyBackup(file, copy);
    const endedRuns = await endOpenRuns(`sqlite:${copy}`);
    await flush(copy);
    // SQLite would apply a leftover -wal file of the old database to the new one.
    removeDatabase(database);
    renameSync(copy, database);
    await flush(dirname(database));
    return { database, endedRuns };
  } finally {
    removeDatabase(copy);
  }
}

/**
 * Cancels all open runs of a restored database that no server uses, and returns their number. Their idempotency keys stay, so
 * a repeated query gets the failure and not a second run.
 */
export async function endOpenRuns(url: string): Promise<number> {
  const store = await openStore(url);
  try {
    const claim = { owner: "restore", leaseMs: LEASE_MS };
    await store.runs.releaseAll();
    await store.runs.wake({ all: true });
    await store.runs.endLeases({ owner: claim.owner, working: [] });
    for (let ended = 0; ;) {
      const suspect = await store.runs.claimSuspect(claim);
      const runs = suspect ? [suspect] : await store.runs.claim({ ...claim, limit: AT_ONCE });
      if (runs.length === 0) return ended;
      for (const run of runs) await end(store, run);
      ended += runs.length;
    }
  } finally {
    await store.close();
  }
}

async function end({ runs, approvals }: Store, run: RunRecord): Promise<void> {
  // Decisions may have been made after the backup.
  const closed = await approvals.close(run.runId, { cancel: true });
  const last = decided(closed.filter(({ reported }) => !reported));
  const { result, event } = failed(run, new RunFailure("cancelled", RESTORED), 0);
  await runs.commit(run, {
    events: [...last.events, event].map((one, index) => ({ seq: run.lastSeq + 1 + index, body: JSON.stringify(one) })),
    approvals: last.approvals,
    finish: {
      status: "cancelled",
      result,
      history: [],
      releaseIdempotencyKey: false,
      ...reportOf(run, "cancelled", result),
    },
    audit: [runEntry(run, "run.failed", { rule: "restored" })],
  });
}

function removeDatabase(file: string): void {
  for (const part of ["-wal", "-shm", ""]) rmSync(`${file}${part}`, { force: true });
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, "r");
  await handle.sync();
  await handle.close();
}
