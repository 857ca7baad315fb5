import { copyFileSync, existsSync, linkSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { present } from "@patchbay/kit";
import { AdminError } from "@patchbay/server/accounts/admin-error";
import type { RunRecord } from "@patchbay/engine/ports/records";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { failed } from "@patchbay/engine/run/answer";
import { decided } from "@patchbay/engine/run/calls/approval";
import { reportOf, runEntry } from "@patchbay/engine/run/calls/journal";
import { RunFailure } from "@patchbay/engine/run/run-failure";
import { embeddedFile, lockStore, openStore } from "@patchbay/store/open";
import { copyBackup } from "@patchbay/store/backup";
import { closeLog, UNFINISHED } from "@patchbay/store/dialect/sqlite-files";

const AT_ONCE = 100;
const LEASE_MS = 60_000;
const RESTORED =
  "Run cancelled: the database was restored from a backup made while this run was in progress. Its function calls after the backup are unknown.";

export interface Restored {
  /** The database file. */
  database: string;
  /** How many runs were open in the backup and are cancelled now. */
  endedRuns: number;
  /** The replaced database; undefined if none existed, or `discard` was set. */
  replaced?: string;
}

/**
 * Replaces an embedded database with a backup and cancels its open runs: resumed from the older state, they would
 * repeat function calls. The last step is one rename: a process that is killed leaves the old or the new database,
 * complete. The old one stays as `<file>.before-restore` unless `discard` is set. Throws `StoreInUse` while another
 * process has the database open, `AdminError` when the database exists and `force` is not set, and `BackupFailed` when
 * the file is not a backup.
 */
export async function restoreBackup(
  url: string,
  file: string,
  { force = false, discard = false } = {},
): Promise<Restored> {
  const database = embeddedFile(url);
  if (database === undefined)
    throw new AdminError(
      "This command restores embedded databases only. Restore a Postgres database with pg_restore, then run: patchbay db end-runs --database postgres://...",
    );
  if (resolve(file) === database) throw new AdminError(`${file} is the database itself. Give the file of a backup.`);
  await using _lock = await lockStore(url);
  if (existsSync(database) && !force)
    throw new AdminError(
      `${database} exists. Add --force to replace it with the backup; it stays as ${nameOfReplaced(database)}.`,
      "conflict",
    );
  const copy = `${database}${UNFINISHED}`;
  removeDatabase(copy);
  try {
    await copyBackup(file, copy);
    const endedRuns = await endOpenRuns(`sqlite:${copy}`);
    closeLog(copy);
    await flush(copy);
    const replaced = existsSync(database) ? setAside(database, { discard }) : undefined;
    renameSync(copy, database);
    await flush(dirname(database));
    return { database, endedRuns, ...present({ replaced }) };
  } finally {
    removeDatabase(copy);
  }
}

/**
 * Cancels all open runs in a restored database that no server uses, and returns their number. Their idempotency keys
 * stay, so a repeated query gets the failure and not a second run.
 */
export async function endOpenRuns(url: string): Promise<number> {
  const store = await openStore(url);
  try {
    const claim = { owner: "restore", leaseMs: LEASE_MS };
    await store.runs.releaseAll();
    await store.runs.wake({ all: true });
    await store.runs.endLeases({ owner: claim.owner, working: [] });
    for (let ended = 0; ;) {
      const { runs: suspects } = await store.runs.claimSuspects({ ...claim, limit: AT_ONCE });
      const runs = suspects.length > 0 ? suspects : await store.runs.claim({ ...claim, limit: AT_ONCE });
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

const nameOfReplaced = (database: string): string => `${database}.before-restore`;

/**
 * Makes the present database a single file, which the rename can replace: SQLite would apply a leftover -wal file to the restored one.
 * Returns the second name that the database now has.
 */
function setAside(database: string, { discard }: { discard: boolean }): string | undefined {
  closeLog(database);
  const replaced = nameOfReplaced(database);
  if (!discard) {
    removeDatabase(replaced);
    addName(database, replaced);
  }
  for (const part of ["-wal", "-shm"]) rmSync(`${database}${part}`, { force: true });
  return discard ? undefined : replaced;
}

function addName(file: string, name: string): void {
  try {
    linkSync(file, name);
  } catch {
    // Some file systems have no hard links.
    copyFileSync(file, name);
  }
}

function removeDatabase(file: string): void {
  for (const part of ["-wal", "-shm", ""]) rmSync(`${file}${part}`, { force: true });
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, "r");
  await handle.sync();
  await handle.close();
}
