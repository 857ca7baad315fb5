import type { Bus } from "../ports/bus.ts";
import type { RunHandle } from "./api.ts";

const GRACE_MS = 5_000;
/** How long other replicas have to answer that they have a reader. */
const ANSWER_MS = 1_000;

interface Audience {
  readers: number;
  cancelWhenGone: boolean;
  leaving?: NodeJS.Timeout;
}

export interface Readers extends Disposable {
  /** Counts a reader of the run until disposed. */
  attach(run: RunHandle, options: { cancelWhenGone: boolean }): Disposable;
}

/**
 * Counts the readers of runs, and calls `abandon` for a run whose readers asked for that and have all been gone for 5 s. They
 * may have gone to another replica: each is asked first, and one that has a reader, or had one within 5 s, looks after the run
 * from then on.
 */
export function createReaders(bus: Bus, abandon: (run: RunHandle) => void): Readers {
  const audiences = new Map<string, Audience>();
  /** Runs that other replicas are asked about, with what to do when one of them answers. */
  const asked = new Map<string, () => void>();
  const subscriptions = new DisposableStack();

  subscriptions.use(
    bus.subscribe("readers.wanted", (runId) => {
      const audience = typeof runId === "string" ? audiences.get(runId) : undefined;
      if (!audience) return;
      audience.cancelWhenGone = true;
      bus.publish("readers.present", runId);
    }),
  );
  subscriptions.use(
    bus.subscribe("readers.present", (runId) => {
      if (typeof runId === "string") asked.get(runId)?.();
    }),
  );

  function leaveSoon(run: RunHandle, audience: Audience): void {
    audience.leaving = setTimeout(() => leave(run, audience), GRACE_MS);
    audience.leaving.unref();
  }

  function leave(run: RunHandle, audience: Audience): void {
    // A replica that cannot ask the others does not cancel what one of them may be showing.
    if (audience.cancelWhenGone && !bus.healthy) return leaveSoon(run, audience);
    audiences.delete(run.runId);
    if (!audience.cancelWhenGone) return;
    const decision = setTimeout(() => {
      asked.delete(run.runId);
      const back = audiences.get(run.runId);
      if (back) back.cancelWhenGone = true;
      else abandon(run);
    }, ANSWER_MS);
    decision.unref();
    asked.set(run.runId, () => {
      asked.delete(run.runId);
      clearTimeout(decision);
    });
    bus.publish("readers.wanted", run.runId);
  }

  return {
    attach(run, { cancelWhenGone }) {
      const audience = audiences.get(run.runId) ?? { readers: 0, cancelWhenGone: false };
      audiences.set(run.runId, audience);
      audience.readers++;
      audience.cancelWhenGone ||= cancelWhenGone;
      clearTimeout(audience.leaving);
      let attached = true;
      return {
        [Symbol.dispose]() {
          if (!attached) return;
          attached = false;
          if (--audience.readers === 0) leaveSoon(run, audience);
        },
      };
    },
    [Symbol.dispose]: () => subscriptions[Symbol.dispose](),
  };
}
