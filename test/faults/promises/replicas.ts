import type { Promised } from "./promise.ts";

/** Guarantees for replicas that die, freeze, stop, restart or have wrong clocks. */
export const replicas: readonly Promised[] = [
  {
    promise: "A run whose replica died continues within 20 s (p99)",
    atMost: { "killed-replicas": { recoveryP99Ms: 20_000 } },
  },
  {
    promise: "Another replica claims a run when its lease has ended, and of several replicas one",
    tests: {
      "packages/store/test/contract/claims.ts": [
        "a run is claimed again after its lease has ended, not before",
        "two replicas that claim at the same time never get the same run",
      ],
    },
  },
  {
    promise: "Replicas that are killed one after another lose no acknowledged event and no run, and run no call twice",
    atMost: { "killed-replicas": { violations: 0, twice: 0 } },
  },
  {
    promise: "Calls that run when their replica is killed are adopted by another one, and run once",
    atMost: { "adopted-calls": { reruns: 0 } },
  },
  {
    promise: "A model turn that a crash interrupts is repeated and charged once",
    tests: { "test/recovery/replica-killed.test.ts": "every log is consistent, and every step is charged once" },
  },
  {
    promise: "A single replica that is killed at random moments loses nothing and runs no function twice",
    tests: {
      "test/recovery/replica-restarts.test.ts":
        "a control plane killed at random moments loses nothing and runs no function twice",
    },
  },
  {
    promise: "A replica that was frozen for two leases cannot write to its runs, and duplicates no row",
    tests: {
      "packages/store/test/contract/claims.ts": "a frozen owner cannot write after another replica has claimed its run",
    },
    atMost: { "paused-replica": { violations: 0 } },
  },
  {
    promise: "A runtime that was asked about a call refuses this call when it arrives late",
    tests: {
      "packages/runtime/test/connection/calls.test.ts":
        "a query for an unknown call is answered unseen, and refuses that attempt but not a later one",
    },
  },
  {
    promise: "A replica that is stopped by SIGTERM accepts no new connection, and lets runs end that can end in time",
    tests: {
      "test/contract/handover.test.ts": "accepts no new connection and lets runs end that can end in time",
    },
  },
  {
    promise: "Its streams end after a complete event with `retry: 1000`",
    tests: {
      "test/contract/handover.test.ts":
        "closes streams after a complete event (retry: 1000), and the client resumes elsewhere",
    },
  },
  {
    promise: "Its endpoint 1 answers 503 with `Retry-After` and `X-Run-Id`",
    tests: {
      "test/contract/handover.test.ts":
        "answers endpoint 1 with 503, Retry-After and X-Run-Id; the same Idempotency-Key joins the run",
    },
  },
  {
    promise: "It exits within 25 s",
    atMost: { "rolling-restart": { slowestExitMs: 25_000 } },
  },
  {
    promise: "A run that outlasts the stop continues after the next start, with its call and its client",
    tests: {
      "test/recovery/sigterm.test.ts":
        "a run that outlasts the drain continues after the next start, with its call and its client",
    },
  },
  {
    promise: "Replicas that are restarted one after another by SIGTERM fail no query",
    atMost: { "rolling-restart": { failed: 0 } },
  },
  {
    promise: "Replicas of an earlier version are replaced under load without a failed query or a call that runs twice",
    atMost: { "rolling-upgrade": { failed: 0, twice: 0 }, "embedded-upgrade": { failed: 0, twice: 0 } },
  },
  {
    promise: "Replicas whose clocks are hours apart take no lease from each other",
    atMost: { "wrong-clocks": { stolenLeases: 0 } },
  },
  {
    promise: "A process keeps the runs that it works on when the database's clock jumps past their leases",
    tests: {
      "packages/store/test/contract/suspects.ts":
        "a process keeps the runs it works on when the clock jumps past their leases",
      "packages/engine/test/run/crash-loop.test.ts":
        "a process neither claims nor ends its own run when the clock of its store jumps forward",
    },
  },
  {
    promise: "A run whose deadline passes while no replica runs ends at the next start",
    tests: {
      "test/recovery/interrupted-runs.test.ts":
        "a run whose deadline passes while its control plane is down ends at the next start",
    },
  },
  {
    promise:
      "Time in which no replica served the database makes no runtime older: a sweep deletes none for it, and the calls of a candidate are compared afterwards",
    tests: {
      "packages/store/test/contract/runtimes.ts": "a runtime is not older for the time in which no replica served",
      "packages/store/test/contract/upkeep.ts":
        "a sweep after months without service deletes no runtime that was connected at their beginning",
      "packages/store/test/contract/shadows.ts": "no ended call is skipped for the time in which no replica served",
    },
  },
];
