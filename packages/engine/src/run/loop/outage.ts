import { randomFraction } from "@patchbay/kit/time";
import type { ChosenModel, ModelError } from "../../ports/model-provider.ts";
import type { ActiveRun } from "../state.ts";
import { MODEL_FAILURES } from "./model-turn.ts";

/** How long to ask a turn's models again after their attempts; half the run's remaining time when that is shorter. */
const WINDOW_MS = 60_000;
const SHORTEST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
/** A timer may fire this much early, measured by another clock. */
const EARLY_MS = 20;
/** A turn that was late by less needs no warning. */
const UNNOTICED_MS = 10_000;

/**
 * Failed requests for one model turn: their delay, and when each model may be asked again. The window for further
 * requests begins with the first failure.
 */
export function createOutage({ remainingMs, random = randomFraction }: Pick<ActiveRun, "remainingMs" | "random">) {
  const beganAt = remainingMs();
  const failures = new Map<ChosenModel, ModelError>();
  /** `remainingMs` from which a model may be asked again. */
  const readyAt = new Map<ChosenModel, number>();
  const reasons = new Set<string>();
  let closesAt: number | undefined;
  let requests = 0;
  let rounds = 0;
  let lateMs = 0;

  const waitMs = (model: ChosenModel): number => remainingMs() - (readyAt.get(model) ?? Infinity);
  return {
    /** Each model's last error, in the order of their first failures. */
    failures: failures as ReadonlyMap<ChosenModel, ModelError>,
    failed(model: ChosenModel, error: ModelError): void {
      const left = remainingMs();
      closesAt ??= left - Math.min(WINDOW_MS, left / 2);
      failures.set(model, error);
      readyAt.set(model, left - (error.retryAfterMs ?? 0));
      reasons.add(error.status === undefined ? MODEL_FAILURES[error.kind].short : `HTTP ${error.status}`);
      requests++;
      lateMs = beganAt - left;
    },
    /** Another request follows after this pause. */
    pauses(ms: number): void {
      lateMs = beganAt - remainingMs() + ms;
    },
    /** False while a model's last answer asks for a longer wait. */
    isReady: (model: ChosenModel): boolean => waitMs(model) <= EARLY_MS,
    /**
     * The pause before these models are asked once more, longer each time; undefined when the window is over, or when
     * each model asks for a wait beyond it.
     */
    nextPauseMs(models: readonly ChosenModel[]): number | undefined {
      const windowMs = remainingMs() - (closesAt ?? Infinity);
      const soonestMs = Math.min(...models.map(waitMs));
      if (windowMs < SHORTEST_PAUSE_MS || soonestMs > windowMs + EARLY_MS) return undefined;
      const most = Math.min(2 * SHORTEST_PAUSE_MS * 2 ** rounds++, LONGEST_PAUSE_MS);
      // Half the pause is random: runs that an outage stopped must not all return at once.
      const pause = (most / 2) * (1 + random());
      return Math.round(Math.max(soonestMs, Math.min(pause, windowMs)));
    },
    /** One text for the API caller when the model was unavailable long enough for people to notice. */
    warnings(): string[] {
      if (requests === 0 || (rounds === 0 && lateMs < UNNOTICED_MS)) return [];
      const who = failures.size > 1 ? "The models" : "The model";
      const failed = requests === 1 ? "1 request" : `${requests} requests`;
      return [
        `${who} did not answer for ${Math.round(lateMs / 1_000)} s: ${failed} failed (${[...reasons].join(", ")})`,
      ];
    },
  };
}

export type Outage = ReturnType<typeof createOutage>;
