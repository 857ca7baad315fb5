import type { Promised } from "./promise.ts";

/** Guarantees for runtimes that are missing, connect again, stop or exceed their limits. */
export const runtimes: readonly Promised[] = [
  {
    promise: "Runtimes whose replica died are connected to another one within 5 s",
    atMost: { "moved-connections": { gapMs: 5_000 } },
  },
  {
    promise:
      "A runtime retries after pauses of at most 2.5 s in the first five minutes without a connection, 10 s in the first day, and 30 s later",
    tests: {
      "packages/runtime/test/connection/backoff.test.ts": [
        "waits double from 0.1 s to 2.5 s in the first five minutes without a connection",
        "waits grow to 10 s after five minutes without a connection, and to 30 s after a day",
      ],
    },
  },
  {
    promise: "A runtime whose control plane is away for half an hour connects within 10 s of its return",
    tests: {
      "test/connection/long-outage.test.ts":
        "a runtime whose control plane is down for half an hour retries, and reconnects within 10 s of its return",
    },
  },
  {
    promise: "2,000 runtimes are connected again within 60 s of a restart of every replica",
    atMost: { "reconnected-fleet": { reconnectMs: 60_000 } },
  },
  {
    promise: "Both ends notice a connection that hangs without closing, and replace it",
    tests: {
      "test/connection/half-open.test.ts":
        "each end notices by itself that the network drops everything without closing",
      "test/simulation/half-open.test.ts": [
        "each end closes at two heartbeats without a byte, on a network silent $when",
        "the late close of a half-open connection does not affect the one that replaced it",
      ],
    },
  },
  {
    promise: "A query waits 15 s for a runtime of its agent if one was connected in the last minute",
    tests: {
      "packages/gateway/test/runtime-picker.test.ts":
        "an agent whose runtime was seen less than a minute ago is waited for 15 s",
    },
  },
  {
    promise:
      "After a start, a query waits for a runtime that was connected in the last day, until 20 s have passed since the start",
    tests: { "packages/gateway/test/runtime-picker.test.ts": "after a start, a query waits for %s" },
  },
  {
    promise: "No such wait is longer than `--run-timeout`, and `--arrival-seconds 0` turns them off",
    tests: {
      "test/recovery/away.test.ts": "a query whose deadline is shorter than the wait for its runtime ends in time",
      "packages/gateway/test/runtime-picker.test.ts": "with arrivalMs 0 no query waits, also after a start",
    },
  },
  {
    promise:
      "A query that finds no runtime ends with `Agent session not found` and status 200, and its `warnings` say since when none is connected",
    tests: { "test/recovery/away.test.ts": "a query says since when no runtime is connected, with status 200" },
  },
  {
    promise:
      "A query waits 15 s for one of several services, then continues with the connected ones, and `warnings` names the missing one",
    tests: {
      "packages/gateway/test/missing-services.test.ts":
        "a second service that does not connect within 15 s is named as missing, and the session has the first",
      "test/system/services.test.ts":
        "a query waits for a service that just stopped, then continues without it, with a warning",
    },
  },
  {
    promise: "A runtime that SIGTERM stops finishes its 50 calls, accepts no other, and exits within 30 s",
    atMost: { "drained-runtime": { takenWhileDraining: 0, exitMs: 30_000 } },
  },
  {
    promise: "Restarts of runtimes under load leave no call with an unknown outcome",
    atMost: { "restarted-runtimes": { unknown: 0 } },
  },
  {
    promise: "A runtime beyond a limit logs the limit and what to do, and retries",
    tests: {
      "test/connection/limits.test.ts":
        "a runtime beyond the connections of its key logs the reason, and connects when another one stops",
    },
  },
  {
    promise: "A refused function set stops a new runtime at once, and one that was connected after 60 s",
    tests: {
      "test/connection/limits.test.ts":
        "a function set that exceeds a limit stops a new runtime, and a connected one serves its earlier set",
      "packages/runtime/test/connection/backoff.test.ts": "refusals are retried for 60 s, the last time at their end",
    },
  },
  {
    promise:
      "Frames beyond the limit are dropped, and the connection is closed after 10 s of them; results of calls that were sent to the runtime are always accepted",
    tests: {
      "packages/gateway/test/limits.test.ts": [
        "a connection that exceeds its limit for ten seconds is closed with a reason",
        "results of calls that were sent to the runtime, and answers to questions, do not count against the limit",
      ],
    },
  },
  {
    promise: "A handler that ignores the end of its call keeps its place until it returns, and the log names it",
    tests: {
      "packages/runtime/test/connection/overrun.test.ts": [
        "a handler that ignores that its call was %s uses its slot until it returns",
        "the log mentions a handler that runs on after its call, and mentions its return",
      ],
    },
  },
  {
    promise: "Other agents are served while a runtime blocks its process",
    tests: { "test/recovery/blocked-runtime.test.ts": "other agents are served while a runtime blocks its process" },
  },
];
