import type { Promised } from "./promise.ts";

const CHECKED = { "test/faults/checker.test.ts": "the checker reports every damage, and none without damage" };
const KEPT = { soak: { violations: 0 }, simulation: { violations: 0 } };

/** What the fault lab checks after every scenario, and the simulator after every seed. */
export const invariants: readonly Promised[] = [
  "Every event and every body that a client received is in the log",
  "The log of a run has no gaps and ends with exactly one final event",
  "A call has at most one result",
  "A function that is not idempotent ran at most once per call, counted by the function itself",
  "Every run ends: while a replica runs, at most 20 s after its deadline, else as late after the next start",
  "A thread has one active run at a time",
  "The ledger equals the balance, which is never negative; a turn is charged once",
  "No organisation sees data of another",
].map((promise) => ({ promise, tests: CHECKED, atMost: KEPT }));
