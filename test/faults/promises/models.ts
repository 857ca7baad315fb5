import type { Promised } from "./promise.ts";

const OUTAGE = "packages/engine/test/run/outage.test.ts";
const MODEL_OUTAGE = "packages/engine/test/run/model-outage.test.ts";
const MODEL_TURN = "packages/engine/test/run/model-turn.test.ts";

/** Guarantees while a model's provider fails or sends nothing. */
export const models: readonly Promised[] = [
  {
    promise: "A run that has stored no turn ends with `provider_error` after three attempts",
    tests: { [OUTAGE]: "fails after three attempts within moments" },
  },
  {
    promise: "Each fallback model is asked three times too",
    tests: { "packages/engine/test/run/fallback.test.ts": "with %s after its attempts: %o" },
  },
  {
    promise:
      "A run that has stored a turn asks all its models again after pauses of 0.5 to 15 s, for 60 s from the turn's first failure, or half of the time that it has left",
    tests: {
      [OUTAGE]: [
        "asks again after pauses from 0.5 to 15 s for 60 s, with the random share %d",
        "asks for half of the time that was left at the first failure when that is shorter",
      ],
    },
  },
  {
    promise: "40 runs whose provider fails four times after a call that pays succeed, and pay once",
    tests: {
      "test/recovery/provider-outage.test.ts":
        "runs that have paid survive an outage of their provider, and pay once, on the wire %s",
    },
  },
  {
    promise: "A turn that another replica stored counts",
    tests: { [MODEL_OUTAGE]: "a turn that another replica stored before it crashed counts" },
  },
  {
    promise: "A cancel ends such a run at once",
    tests: { [MODEL_OUTAGE]: "a cancel ends a run that waits for its model, and the next query of its thread begins" },
  },
  {
    promise: "Its answer, or its failure, has a warning with the time and the reasons",
    tests: {
      [OUTAGE]: [
        "is in the warnings of the answer, with the time and the reasons",
        "is in the warnings of a failed run",
      ],
    },
  },
  {
    promise: "Its readers learn each pause by `modelStatus` or a comment line",
    tests: {
      [MODEL_OUTAGE]: "readers get each pause: with deltas, behind hooks, and without deltas where they ask for it",
    },
  },
  {
    promise: "`Retry-After` of a provider is kept when it ends within the window, else the requests to its model end",
    tests: {
      [OUTAGE]: [
        "of more than 30 s is kept when it ends within the window",
        "of %i ms ends the attempts when %i ms are left",
      ],
    },
  },
  {
    promise: "A request that gets no byte for `--provider-idle` has failed, and is repeated",
    tests: { [MODEL_TURN]: "is aborted after the idle limit and asked again" },
  },
  {
    promise: "After 10 s without a text or a thought, a stream has `modelStatus` with `silent`, or a comment line",
    tests: {
      [MODEL_TURN]: "is reported after 10 s without text or thought, once for each silence",
      "test/contract/time-limits.test.ts": "a stream has %s when the model is silent for 10 s",
    },
  },
  {
    promise: "After any fault of a provider, on four wires, every run ends without a partial answer",
    tests: {
      "test/recovery/provider-faults.test.ts": "every run ends without a partial answer after any fault on the wire %s",
    },
  },
];
