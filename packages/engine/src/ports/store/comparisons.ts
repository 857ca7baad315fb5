import { monotonicMs, sleep } from "@patchbay/kit/time";
import { asStranger, createFairQueue } from "../fair-queue.ts";
import { ownTurn } from "../own-turn.ts";
import { ServiceError } from "../service-error.ts";

/** Each waiting comparison keeps its function sets in memory. */
const WAITING = 100;

/** One per process, because all comparisons share the event loop. */
const queue = createFairQueue({
  concurrent: 1,
  waiting: WAITING,
  busy: () => new ServiceError("unavailable", "Too many function sets are compared at the moment. Try again."),
});

/** How long a comparison runs, in milliseconds, before the process does other work. */
const PIECE_MS = 10;

/**
 * Compares an agent's function sets when it is the agent's turn. A comparison may take 50 ms, so the process does its
 * other work whenever the comparison yields, and the next one begins after an equally long pause.
 */
export function compareInTurn<T>(agentId: string, comparison: Generator<undefined, T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const inTurn = async (): Promise<void> => {
    let busyMs = 0;
    for (;;) {
      await ownTurn();
      const beganAt = monotonicMs();
      let piece = comparison.next();
      while (!piece.done && monotonicMs() - beganAt < PIECE_MS) piece = comparison.next();
      busyMs += monotonicMs() - beganAt;
      if (!piece.done) continue;
      resolve(piece.value);
      return sleep(busyMs);
    }
  };
  queue.run(asStranger(agentId), () => inTurn().catch(reject)).catch(reject);
  return promise;
}
