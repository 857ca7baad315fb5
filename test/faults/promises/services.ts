import type { Promised } from "./promise.ts";

/** Guarantees while the bus, the database, the disk or file descriptors fail, and for backups. */
export const services: readonly Promised[] = [
  {
    promise: "Without NATS, no query is silent for longer than 20 s, and none fails once NATS is back",
    atMost: { "killed-bus": { longestSilenceMs: 20_000, failedAfter: 0 } },
  },
  {
    promise: "Each replica uses NATS within 5 s of its return",
    tests: {
      "packages/gateway/test/bus/nats-faults.test.ts": "that is killed and restarted loses only what was in transit",
    },
    atMost: { "killed-bus": { reachedMs: 5_000 } },
  },
  {
    promise: "A NATS server that hangs is given up after two missed pings",
    tests: {
      "packages/gateway/test/bus/nats-faults.test.ts":
        "that freezes is disconnected after two missed pings, and used again when it resumes",
    },
  },
  {
    promise: "A replica without the bus continues with the runtimes that are connected to it",
    tests: {
      "packages/gateway/test/moves.test.ts":
        "a replica that is disconnected from the bus serves its own runtimes, and calls to others are undelivered",
    },
  },
  {
    promise: "A replica that is cut off from the bus only leaves no query silent for longer than 20 s",
    atMost: { "cut-from-bus": { longestSilenceMs: 20_000 } },
  },
  {
    promise: "A call that no runtime accepts fails with that reason, and its query continues",
    tests: { "packages/engine/test/run/delivery.test.ts": "a call that no runtime accepts fails after ten offers" },
  },
  {
    promise: "A query ends with `Agent session not found` only if the database, too, has no connected runtime",
    tests: {
      "packages/gateway/test/unreachable-host.test.ts":
        "a runtime is connected, as the store says, while its replica is cut off from the bus",
    },
  },
  {
    promise: "Without Postgres, a query gets 503 with `Retry-After` within 10 s, and no replica exits",
    atMost: { "stopped-postgres": { refusedWithinMs: 10_000, exits: 0 } },
  },
  {
    promise: "A query succeeds within 5 s of Postgres' return",
    atMost: { "stopped-postgres": { healedMs: 5_000 } },
  },
  {
    promise: "Repeated stops of Postgres fail no query and end no replica",
    atMost: { "restarted-postgres": { failed: 0, exits: 0 } },
  },
  {
    promise: "A replica that is cut off from the database only loses its runs to others, without a duplicate row",
    atMost: { "cut-from-database": { violations: 0 } },
  },
  {
    promise: "A write whose connection dies is never sent twice",
    tests: {
      "packages/store/test/postgres-faults.test.ts":
        "a write is never sent twice: it fails as unavailable when its connection dies",
    },
  },
  {
    promise: "A step that cannot be stored fails without the others of its commit",
    tests: {
      "packages/store/test/postgres-groups.test.ts": "a step with %s fails without the others of its group",
      "packages/store/test/sqlite-groups.test.ts": "a failing transaction rolls back its own work only",
    },
  },
  {
    promise: "With a store that is slow and fails at random, 1,000 runs end and keep all guarantees",
    tests: {
      "test/recovery/failing-store.test.ts":
        "with a store that is slow and fails at random, every run ends and all invariants hold",
    },
  },
  {
    promise: "Writers on SQLite that are killed in their commits lose no stored event",
    tests: {
      "packages/store/test/sqlite-processes.test.ts":
        "kill -9 of writers during commits loses no stored event, 25 times",
    },
  },
  {
    promise: "With a full disk queries get 503, nothing acknowledged is lost, and the process continues",
    atMost: { "full-disk": { violations: 0, exits: 0 } },
  },
  {
    promise: "A write whose fsync fails is not acknowledged, and the process continues",
    tests: {
      "packages/store/test/sqlite-faults.test.ts": "every commit waits for the disk, and foreign keys are enforced",
    },
    atMost: { "failing-disk": { violations: 0, exits: 0 } },
  },
  {
    promise: "`/readyz` answers 503 from the first failed write until a write succeeds",
    tests: {
      "packages/store/test/sqlite-faults.test.ts":
        "a store that failed to write fails its ping until the next write succeeds",
    },
  },
  {
    promise: "A process without a free file descriptor logs its limit once, until some are free",
    tests: {
      "packages/control-plane/test/start/open-files.test.ts":
        "a shortage is logged once, with the limit, and ends when descriptors are free again",
    },
  },
  {
    promise: "What fails for want of a file descriptor does not count as a failure of the provider",
    tests: {
      "packages/models/test/provider-fetch.test.ts":
        "a request that is not sent for want of a file descriptor is not a failure of the provider",
    },
  },
  {
    promise: "A backup that is made during writes is consistent",
    tests: {
      "packages/store/test/sqlite-faults.test.ts": "a backup made during writes is consistent and opens as a store",
    },
  },
  {
    promise:
      "`patchbay db restore` ends the runs that were open in the backup, so that none continues from an earlier state",
    tests: {
      "packages/control-plane/test/start/restore.test.ts":
        "a restore ends the open runs of the backup, also queued ones",
    },
  },
  {
    promise: "A restore that is killed at any time leaves the old or the new database, complete",
    tests: {
      "test/recovery/restore-killed.test.ts":
        "a restore that is killed at any system call leaves the database before or the new one, complete",
    },
  },
];
