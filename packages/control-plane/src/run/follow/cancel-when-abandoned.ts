import type { Bus } from "../../ports/bus.ts";
import type { Reader, RunHandle } from "../api.ts";

/** How long a run continues after its last reader has left: a client that lost its connection may resume. */
const GRACE_MS = 5_000;
/** How long other replicas have to report that they have a reader. */
const ANSWER_MS = 1_000;

interface Audience {
  readers: number;
  cancelWhenGone: boolean;
  leaving?: NodeJS.Timeout;
}

/** The readers of runs on this replica. */
export interface Readers extends Disposable {
  /** Counts a reader of the run until disposed. */
  attach(run: RunHandle, options: { cancelWhenGone: boolean }): Reader;
}

/**
 * Calls `cancel` for a run that all readers left 5 s ago, if one of them asked for that. The client may have resumed at another
 * replica, so the other replicas are asked first. A replica that has a reader, or had one within 5 s, takes over the responsibility.
 */
export function cancelWhenAbandoned(bus: Bus, cancel: (run: RunHandle) => void): Readers {
  const audiences = new Map<string, Audience>();
  /** Runs that other replicas are asked about, each with the action for a reader there. */
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
    // Without the bus the other replicas cannot be asked. One of them may be streaming the run.
    if (audience.cancelWhenGone && !bus.healthy) return leaveSoon(run, audience);
    audiences.delete(run.runId);
    if (!audience.cancelWhenGone) return;
    const decision = setTimeout(() => {
      asked.delete(run.runId);
      // A reader may have come back to this replica while the others were asked.
      const back = audiences.get(run.runId);
      if (back) back.cancelWhenGone = true;
      else cancel(run);
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
        answered(): void {
          if (audience.readers === 1) audience.cancelWhenGone = false;
        },
        [Symbol.dispose]() {
          // A stream may be disposed twice. Counting it twice would cancel the run of another reader.
          if (!attached) return;
          attached = false;
          if (--audience.readers === 0) leaveSoon(run, audience);
        },
      };
    },
    [Symbol.dispose]: () => subscriptions[Symbol.dispose](),
  };
}
