import type { Promised } from "./promise.ts";

/** Guarantees to clients that disconnect, repeat a query or read slowly. */
export const clients: readonly Promised[] = [
  {
    promise: "A run continues when its client disconnects",
    tests: { "test/contract/resume.test.ts": "a client that disconnects does not cancel its run" },
  },
  {
    promise: "With `X-On-Disconnect: cancel`, a run ends 5 to 6 s after its last reader on any replica disconnected",
    tests: {
      "packages/engine/test/run/cancel-when-abandoned.test.ts":
        "a run is cancelled 5 s after its last reader left any replica",
    },
  },
  {
    promise:
      "If a replica dies with that reader, the one that takes over the run stores the results of calls that have begun, and begins no further turn until a reader is back at any replica",
    tests: {
      "packages/engine/test/run/cancel-when-abandoned.test.ts":
        "a process that takes over a run settles its calls, and asks its model for no further turn before a reader is back",
    },
  },
  {
    promise: "It cancels the run after 20 to 21 s without a reader",
    tests: {
      "packages/engine/test/run/cancel-when-abandoned.test.ts":
        "a claimed run that no reader comes back to waits, and is cancelled after 20 s",
    },
  },
  {
    promise: "The same holds for clients that get one answer, also over MCP and OpenAI's API",
    tests: {
      "packages/engine/test/run/cancel-when-abandoned.test.ts": "a claimed run %s is cancelled without a reader: %s",
    },
  },
  {
    promise: "A stream that is cut after any byte resumes from `Last-Event-ID`, byte for byte",
    tests: {
      "test/recovery/cut-streams.test.ts": "a stream cut after any byte and resumed equals the uncut one",
    },
  },
  {
    promise: "Streams of a killed replica continue at another one without a lost or repeated event",
    atMost: { "resumed-streams": { violations: 0 } },
  },
  {
    promise: "The events of a run are kept for 24 hours or more",
    tests: { "packages/cli/test/agent-settings.test.ts": "%s %s is refused with the expected value" },
  },
  {
    promise: "A query that is repeated with its `Idempotency-Key` within 24 hours joins its run, also after a crash",
    tests: {
      "packages/store/test/contract/idempotency.ts": "a key counts for 24 hours",
      "test/recovery/replica-killed.test.ts": "the same Idempotency-Key joins its run after the restart",
    },
  },
  {
    promise: "A query that is sent 100 times concurrently over three replicas with one key is one run with one body",
    atMost: { "repeated-key": { violations: 0, differing: 0 } },
  },
  {
    promise: "A key with another body is answered 422",
    tests: { "test/contract/idempotency.test.ts": "the same key with another body -> 422" },
  },
  {
    promise: "Of 20 concurrent queries on one thread, one runs, four wait in order, and 15 end as `thread_busy`",
    tests: {
      "test/contract/busy-thread.test.ts":
        "of 20 concurrent queries on one thread one runs, four wait in order, the rest are rejected, and the history is complete",
    },
  },
  {
    promise: "1,000 runs that are cancelled at random moments have no event after their end",
    tests: {
      "test/recovery/cancellation.test.ts":
        "1,000 runs cancelled at random moments end soon, and have no event after their end",
    },
  },
  {
    promise: "A client that stops reading does not stop its run, and takes at most 1.5 MiB for 50 MB of events",
    tests: {
      "test/recovery/stopped-readers.test.ts":
        "readers whose process is stopped neither block a run of 50 MB of events nor keep its memory",
    },
  },
  {
    promise: "1,000 streams that break at the same time leave no memory and no timer",
    tests: {
      "test/recovery/stopped-readers.test.ts":
        "1,000 streams whose clients die at the same time leave no memory and no timer",
    },
  },
  {
    promise: "10,000 silent streams stay open on one replica, with at most 70 KB each",
    atMost: { "idle-streams": { lost: 0, eachKb: 70 } },
  },
];
