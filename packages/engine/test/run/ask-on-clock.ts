import type { LiveEvent } from "@patchbay/protocol";
import { silentLog } from "../../src/ports/log.ts";
import { type ChosenModel, ModelError, type ModelErrorKind } from "../../src/ports/model-provider.ts";
import type { RunRecord, TurnRecord } from "../../src/ports/records.ts";
import { NO_HISTORY } from "../../src/ports/store/run-store.ts";
import { respond } from "../../src/run/loop/respond.ts";
import { RunFailure } from "../../src/run/run-failure.ts";
import { type ActiveRun, createProgress, createState } from "../../src/run/state.ts";
import { manifestOf } from "./fake-gateway.ts";

/** What a model does with a request at time `at`, in milliseconds since the turn was first asked for. */
export type Behaviour = (at: number) => ModelError | "answers" | "is empty";

interface Situation {
  /** Turns that the run has stored. Default 1. */
  stored?: number;
  /** Time until the run's deadline. Default 240 s. */
  leftMs?: number;
  /** Share of each random part of a pause. Default 0. */
  random?: number;
  /** Time that each request takes. Default 0. */
  requestMs?: number;
  /** Index of the model that gave the last turn; those before it have failed. Default 0. */
  current?: number;
  /** Called when the run pauses. */
  onPause?: (abort: AbortController) => void;
  maxCostMicros?: number;
}

export const overloaded = (more: { retryAfterMs?: number } = {}) =>
  new ModelError("overloaded", "answered 529", { status: 529, ...more });
export const untilMs =
  (end: number, error = overloaded()): Behaviour =>
  (at) =>
    at < end ? error : "answers";
export const always =
  (kind: ModelErrorKind, more: { retryAfterMs?: number; status?: number } = {}): Behaviour =>
  () =>
    new ModelError(kind, kind, more);

const usage = { input: 10, cachedInput: 0, output: 5 };
const turnOf = (text: string) => ({ text, thoughts: [], calls: [], stop: "stop" as const, usage, model: "m" });

/** Asks for one turn of a run, on a clock that only pauses and requests advance. */
export async function ask(behaviours: Record<string, Behaviour>, situation: Situation = {}) {
  const { stored = 1, leftMs = 240_000, random = 0, requestMs = 0, current = 0, onPause, maxCostMicros } = situation;
  const abort = new AbortController();
  let at = 0;
  const asked: [model: string, at: number][] = [];
  const live: LiveEvent[] = [];
  const models = Object.entries(behaviours).map(([name, behave]): ChosenModel => ({
    model: name,
    cost: ({ input, output }) => input + output,
    provider: {
      name: "played",
      async *stream() {
        asked.push([name, at]);
        const done = behave(at);
        at += requestMs;
        if (done instanceof ModelError) throw done;
        yield { type: "end", turn: turnOf(done === "is empty" ? "" : `${name} answers.`) };
      },
    },
  }));
  const request = { query: "Pay", system: "", provider: "played", model: "a", maxTokens: 100, warnings: [] };
  const run = {
    runId: "run_1",
    orgId: "org_1",
    agentId: "agt_1",
    threadId: "thr_1",
    request: { ...request, analysisMode: false, charged: false, ...(maxCostMicros && { maxCostMicros }) },
  } as unknown as RunRecord;
  const turns = Array.from({ length: stored }, (_, step): TurnRecord => {
    const messages = [{ role: "assistant" as const, text: "Well.", calls: [] }];
    return { step, messages, warnings: [], provider: "played", model: "a", usage, costMicros: 15 };
  });
  const passed = models.splice(0, current);
  const [model, ...fallback] = models;
  const sources = { model: model!, fallback, passed, manifest: manifestOf({ pay: "everyone" }), history: NO_HISTORY };
  const state = createState(createProgress(run, turns), sources);
  const active = {
    clock: {
      now: () => at,
      async sleep(ms: number) {
        onPause?.(abort);
        abort.signal.throwIfAborted();
        at += ms;
      },
    },
    random: () => random,
    log: silentLog,
    signal: abort.signal,
    remainingMs: () => leftMs - at,
    journal: { live: (event: LiveEvent) => void live.push(event) },
    observer: { attemptEnded: () => {} },
  } as unknown as ActiveRun;
  const outcome = await respond(state, active).then(
    ({ turn }) => ({ text: turn.text, warnings: turn.warnings }),
    (error: unknown) => {
      if (!(error instanceof RunFailure)) throw error;
      return { code: error.code, message: error.message, warnings: [...state.warnings] };
    },
  );
  const times = (name: string) => asked.flatMap(([model, when]) => (model === name ? [when] : []));
  return { outcome, asked: asked.map(([name]) => name).join(""), times, live, state, endedAt: at };
}
