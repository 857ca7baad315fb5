import type { Promised } from "./promise.ts";

/** Guarantees for function calls whose runtime, connection or replica is lost. */
export const calls: readonly Promised[] = [
  {
    promise:
      "A call runs at most once, unless its function is `idempotent: true`, reads and has `retries`, or its `reconcile` answers that the call did not take effect",
    tests: {
      "packages/engine/test/run/delivery.test.ts":
        "a call that may have run is not sent again, and its outcome is unknown",
      "packages/gateway/test/random-walk.test.ts":
        "three hundred calls over three replicas run at most once under faults of the bus, the store and the connections",
    },
  },
  {
    promise: "A run waits 12.5 s for a runtime that dies during a call: its longest pause and two heartbeats",
    tests: {
      "packages/gateway/test/call-tracker.test.ts":
        "a runtime that disconnects during a call is waited for as long as its longest pause and two heartbeats",
    },
  },
  {
    promise:
      "A run that takes over a call waits 17.5 s for its runtime, which may first have to notice that its replica is gone",
    tests: {
      "packages/gateway/test/exact-times.test.ts": "a run waits $waitsMs ms for the runtime of a call that $call",
    },
  },
  {
    promise: "A call whose runtime is killed ends as `outcome_unknown` within 14.5 s, and the model does not repeat it",
    tests: {
      "test/recovery/runtime-killed.test.ts": "a call whose runtime is killed ends as unknown, and is not repeated",
    },
    atMost: { "killed-runtimes": { reportedMs: 14_500, twice: 0 } },
  },
  {
    promise: "An idempotent call whose runtime is killed goes to another one under its id, in at most 3 attempts",
    atMost: { "redelivered-calls": { mostAttempts: 3 } },
  },
  {
    promise: "After a kill, `reconcile` is asked once what the call did, and its answer decides what follows",
    atMost: { "reconciled-calls": { violations: 0 } },
  },
  {
    promise:
      "A function with `retries` of 3 attempts starts at most 3 handlers over killed runtimes and replicas, and a write 1",
    tests: {
      "test/recovery/retries.test.ts":
        "a replica killed between two attempts continues with the next one and does not repeat the first",
    },
    atMost: { "retried-calls": { mostStarts: 3, mostOfWrites: 1 } },
  },
  {
    promise: "Only functions that read or are idempotent can have `retries`",
    tests: {
      "packages/runtime/test/retries.test.ts": "retries of a function that may not run twice are refused: %j",
    },
  },
  {
    promise:
      "A function with a `concurrency` of 3 never runs more than 3 handlers over replicas, runtimes and their kills",
    atMost: { "limited-calls": { mostAtOnce: 3 } },
  },
  {
    promise: "Calls wait in order for a permit of `concurrency`, and permits of a dead process end by themselves",
    tests: {
      "packages/store/test/contract/permits.ts": [
        "a released permit goes to the call that has waited longest",
        "the permit and the place of a process that died end by themselves",
      ],
    },
  },
  {
    promise: "A process keeps the permits of its calls when the database's clock jumps past their ends",
    tests: {
      "packages/store/test/contract/permits.ts": "a permit that its process holds outlasts a jump of the clock",
      "packages/engine/test/run/permits.test.ts":
        "a process keeps the permits of its calls when the clock jumps past their ends",
    },
  },
  {
    promise: "A permit outlasts a call whose handler may still run",
    tests: {
      "packages/engine/test/run/permits.test.ts": [
        "a permit outlasts a timeout that the runtime did not answer, until its late result",
        "a permit outlasts a timeout after which the handler still runs, until the runtime reports its return",
      ],
    },
  },
  {
    promise: "1,000 results whose connection is cut before their acknowledgement are stored once",
    tests: {
      "test/recovery/cut-after-work.test.ts":
        "1,000 results are stored once after cuts before their arrival or their acknowledgement",
    },
  },
  {
    promise: "A call whose connection is cut between its intent and its frame goes to another runtime, once",
    tests: {
      "test/recovery/cut-after-work.test.ts":
        "a call whose connection is cut between its intent and its frame goes to another runtime, once",
    },
  },
  {
    promise: "Two calls succeed and run once when any single message between replicas is lost or repeated",
    tests: {
      "packages/gateway/test/lost-messages.test.ts":
        "when any single message between replicas is lost or repeated, both calls succeed and run once: answers $answers",
    },
  },
  {
    promise:
      "A runtime forgets no result without an acknowledgement, and acknowledged calls after 10 minutes or 10,000 further calls; asked about such a call, it answers `outcome_unknown`",
    tests: {
      "packages/runtime/test/connection/ledger.test.ts": [
        "a result without an acknowledgement is never forgotten",
        "ids of acknowledged and refused calls are forgotten after ten minutes",
        "at most 10,000 acknowledged ids are remembered, and the oldest are forgotten first",
        "a query for a call that may have been forgotten is answered with outcome_unknown",
      ],
    },
  },
  {
    promise: "A result that arrives after its call has ended is in the audit log as `call.late`",
    tests: { "packages/store/test/contract/calls.ts": "a late result is audited once, without its value" },
  },
];
