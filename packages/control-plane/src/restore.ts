import { existsSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { AdminError } from "./accounts/admin-error.ts";
import type { RunRecord } from "./ports/records.ts";
import type { Store } from "./ports/stores.ts";
import { failed } from "./run/answer.ts";
import { runEntry } from "./run/audit.ts";
import { RunFailure } from "./run/run-failure.ts";
import { embeddedFile, lockStore, openStore } from "./store/open.ts";
import { copyBackup } from "./store/backup.ts";

const AT_ONCE = 100;
const LEASE_MS = 60_000;
const RESTORED =
  "Run cancelled: the database was restored from a backup made while this run was in progress. What the run did after the backup is not known.";

export interface Restored {
  /** The database file. */
  database: string;
  /** Runs of the backup that had not ended, and now have. */
  endedRuns: number;
}

/**
 * Puts a backup in place of an embedded database, and ends the runs that were open in it: a run that went on from an earlier
 * state would call functions a second time. Throws `StoreInUse` while a server uses the database, and `AdminError` where one is
 * there and `force` is not set, or the file is not a backup. Until the last step the database is as it was.
 */
export async function restoreBackup(url: string, file: string, { force = false } = {}): Promise<Restored> {
  const database = embeddedFile(url);
  if (database === undefined)
    throw new AdminError(
      "Only an embedded database is restored by this command. Restore a Postgres database with pg_restore, then run: patchbay db end-runs --database postgres://...",
    );
  if (resolve(file) === database) throw new AdminError(`${file} is the database itself. Name a backup of it.`);
  await using _lock = await lockStore(url);
  if (existsSync(database) && !force)
    throw new AdminError(
      `${database} exists. Add --force to replace it with the backup; what it holds is lost.`,
      "conflict",
    );
  const copy = `${database}.restoring`;
  removeDatabase(copy);
  try {
    await copyBackup(file, copy);
    const endedRuns = await endOpenRuns(`sqlite:${copy}`);
    await flush(copy);
    // The log of the old database would be read into the new one.
    removeDatabase(database);
    renameSync(copy, database);
    await flush(dirname(database));
    return { database, endedRuns };
  } finally {
    removeDatabase(copy);
  }
}

/**
 * Ends all runs of a database that was restored and that no server uses, and says how many. Their idempotency keys stay: a
 * query that comes again gets the failure, not a second run.
 */
export async function endOpenRuns(url: string): Promise<number> {
  const store = await openStore(url);
  try {
    const claim = { owner: "restore", leaseMs: LEASE_MS };
    await store.runs.releaseAll();
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

async function end({ runs }: Store, run: RunRecord): Promise<void> {
  const { result, event } = failed(run, new RunFailure("cancelled", RESTORED), 0);
  await runs.commit(run, {
    events: [{ seq: run.lastSeq + 1, body: JSON.stringify(event) }],
    finish: { status: "cancelled", result, history: [], releaseIdempotencyKey: false },
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
