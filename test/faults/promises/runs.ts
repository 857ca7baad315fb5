import type { Promised } from "./promise.ts";

const SUSPECTS = "packages/store/test/contract/suspects.ts";
const CRASH_LOOP = "packages/engine/test/run/crash-loop.test.ts";
const RETRY = "packages/engine/test/run/retry.test.ts";
const CALL_LIMITS = "packages/engine/test/run/call-limits.test.ts";

/** Guarantees for runs that crash their process, are retried, wait for an approval or exceed a limit. */
export const runs: readonly Promised[] = [
  {
    promise: "A run that was in progress at two crashes is resumed as a suspect only",
    tests: {
      [SUSPECTS]:
        "a run that was in progress at two crashes is claimed as a suspect only, those with fewest claims first",
    },
  },
  {
    promise:
      "Suspects are resumed in groups that double while the process survives; other runs and new queries continue",
    tests: {
      [CRASH_LOOP]: "suspects are resumed in groups that double while the process survives, and other runs continue",
    },
  },
  {
    promise: "A crash halves the next group, and counts only against a suspect that was resumed without others",
    tests: {
      [SUSPECTS]: "a crash halves the group of its suspects, and counts only against the one of a group of one",
    },
  },
  {
    promise: "Of 256 suspects, the one that crashes its process is found after at most 9 crashes",
    tests: { [SUSPECTS]: "of 256 suspects, no. %i that crashes its process is found after at most 9 crashes" },
  },
  {
    promise: "It ends with `crash_loop`, without being loaded",
    tests: { [CRASH_LOOP]: "a run that crashed its processes in quarantine too is ended without being loaded" },
  },
  {
    promise: "Time in quarantine does not count against a run's deadline",
    tests: { [SUSPECTS]: "time in quarantine does not count against the deadline" },
  },
  {
    promise: "A run is forgiven one crash for each hour in which it survives",
    tests: { [SUSPECTS]: "a run is forgiven one crash for each hour in which it survives" },
  },
  {
    promise: "A retry of a failed run continues after its last stored result and repeats no call that has a result",
    tests: { [RETRY]: "a retry continues after the last stored result and repeats no call" },
  },
  {
    promise: "Of several retries at the same time one begins, and a replica that dies leaves a whole retry or none",
    tests: {
      [RETRY]: [
        "of retries at the same time one begins",
        "a retry whose process ends before its first turn is resumed by the next one",
      ],
    },
  },
  {
    promise:
      "A detached function and the run that waits for it outlive the processes of both sides, and the run's deadline does not come closer",
    tests: {
      "test/simulation/detached.test.ts": "a detached function of 30 minutes survives kills of $killed",
      "test/recovery/detached.test.ts": [
        "on %s, detached functions that end while their control plane is down continue their run",
        "on %s, a detached function of a killed runtime begins once more if it is idempotent, and ends as unknown otherwise",
      ],
    },
  },
  {
    promise:
      "A run that waits for an approval has no lease and no reserved credit, and its deadline does not come closer",
    tests: {
      "packages/store/test/contract/waiting-runs.ts":
        "a waiting run has no lease, blocks its thread and refuses another run of it at once",
      "packages/engine/test/run/waiting-runs.test.ts": [
        "no credit is reserved while a run waits",
        "the deadline does not come closer while a run waits",
      ],
    },
  },
  {
    promise: "1,000 waiting runs use at most 10 % of a core",
    atMost: { "waiting-runs": { cpuPercent: 10 } },
  },
  {
    promise:
      "After all replicas were killed, a run continues within 5 s of its decision, and 980 decided at once within 30 s",
    atMost: { "waiting-runs": { slowestMs: 5_000, allMs: 30_000 } },
  },
  {
    promise: "A replica that dies at any moment of an approval causes neither a second request nor a second start",
    tests: {
      "packages/engine/test/run/waiting-crashes.test.ts": [
        "a replica that dies before the request is stored leaves it to the next one",
        "a replica that dies after the request is stored does not ask again",
        "a replica that dies while an approved call runs does not deliver it again",
      ],
    },
  },
  {
    promise: "Of a decision, the expiry and a cancellation at the same moment, the first that is stored counts",
    tests: {
      "packages/store/test/contract/approvals.ts":
        "of an expiry, a cancellation and a decision at the same moment one is stored",
    },
  },
  {
    promise: "Runs beyond an organisation's places on a replica wait in order, while those of others continue",
    tests: {
      "packages/engine/test/run/slots.test.ts":
        "runs above the limit of an organisation wait in order, while runs of others continue",
    },
  },
  {
    promise: "Calls, equal calls and result bytes beyond a limit are rejected individually, and the run continues",
    tests: {
      [CALL_LIMITS]: [
        "calls above the limit of a turn are refused, and the next turn may call again",
        "the fourth call with equal arguments is refused, in whatever order their properties are written",
        "after the first result above the run's limit no result is stored, and failures keep their code",
      ],
    },
  },
  {
    promise: "An answer has at most `runResultBytes` plus 512 KiB",
    tests: { [CALL_LIMITS]: "an answer stays within its limit of bytes when its calls have large arguments" },
  },
];
