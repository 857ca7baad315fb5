import { openStore, violations } from "@patchbay/control-plane/admin";
import { expect } from "vitest";
import { readDatabase } from "./processes.ts";

/**
 * Checks the invariants of all runs of a database after every run has ended. Returns the numbers of runs, so that a test can
 * check that there were any.
 */
export async function expectSoundRuns(databaseFile: string): Promise<{ runs: number; succeeded: number }> {
  using database = readDatabase(databaseFile);
  const runs = database.rows<{ status: string }>("select status from runs where finished_at is not null");
  const store = await openStore(`sqlite:${databaseFile}`, { readOnly: true });
  const proof = await violations(store).finally(() => store.close());
  expect(proof.violations).toEqual([]);
  expect(runs).toHaveLength(proof.runs);
  return { runs: proof.runs, succeeded: runs.filter(({ status }) => status === "succeeded").length };
}

/** Stops a runtime that keeps no result: `stop()` would wait for its acknowledgement, here for longer than a test may take. */
export async function expectNothingKept(runtime: {
  stop: (options: { drainMs: number }) => Promise<void>;
}): Promise<void> {
  await runtime.stop({ drainMs: 3_600_000 });
}
