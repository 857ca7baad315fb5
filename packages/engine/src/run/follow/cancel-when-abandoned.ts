import { clearTimer, setTimeout } from "@patchbay/kit/time";
import type { Bus } from "../../ports/bus.ts";
import type { RunRecord } from "../../ports/records.ts";
import type { Reader, RunHandle } from "../api.ts";

/** How long a run continues after its last reader disconnects: a client that lost its connection may resume. */
const GRACE_MS = 5_000;
/**
 * How long a claimed run waits for a reader. Longer: its readers' process may have ended, and clients need time to
 * notice.
 */
const CLAIM_GRACE_MS = 20_000;
/** How long other replicas have to report that they have a reader. */
const ANSWER_MS = 1_000;

interface Audience {
  readers: number;
  cancelWhenGone: boolean;
  leaving?: NodeJS.Timeout;
  /** For a claimed run without a reader since: resolved when it may continue. */
  awaited?: PromiseWithResolvers<void> | undefined;
}

/** A client that cannot resume has its answer when the run waits for an approval, or its process shuts down. */
const mayBeAbandoned = ({ request, crashes, waitedMs }: RunRecord): boolean =>
  request.cancelWhenGone === true && (request.resumable === true || (crashes > 0 && waitedMs === undefined));

/**
 * Calls `cancel` for a run without readers for 5 s, if one of them asked for that, and for a claimed one without a
 * reader. The client may have resumed at another replica, so the other replicas are asked first. A replica that has a
 * reader, or had one within 5 s, takes over the responsibility.
 */
export function cancelWhenAbandoned(bus: Bus, cancel: (run: RunHandle) => void) {
  const audiences = new Map<string, Audience>();
  const questions = createQuestions(bus, audiences);
  const { ask } = questions;

  function leaveSoon(run: RunHandle, audience: Audience, graceMs = GRACE_MS): void {
    audience.leaving = setTimeout(() => leave(run, audience), graceMs);
    audience.leaving.unref();
  }

  function leave(run: RunHandle, audience: Audience): void {
    const goOn = (): void => audience.awaited?.resolve();
    // Without the bus the other replicas cannot be asked. One of them may be streaming the run.
    if (audience.cancelWhenGone && !bus.healthy) {
      goOn();
      return leaveSoon(run, audience);
    }
    audiences.delete(run.runId);
    if (!audience.cancelWhenGone) return;
    ask(run.runId, {
      present: goOn,
      absent() {
        // A reader may have returned to this replica meanwhile.
        const back = audiences.get(run.runId);
        if (!back) return cancel(run);
        back.cancelWhenGone = true;
        goOn();
      },
    });
  }

  return {
    /** Counts a reader of the run until disposed. */
    attach(run: RunHandle, { cancelWhenGone }: { cancelWhenGone: boolean }): Reader {
      const audience = audiences.get(run.runId) ?? { readers: 0, cancelWhenGone: false };
      audiences.set(run.runId, audience);
      audience.readers++;
      audience.cancelWhenGone ||= cancelWhenGone;
      audience.awaited?.resolve();
      audience.awaited = undefined;
      clearTimer(audience.leaving);
      let attached = true;
      return {
        answered(): void {
          if (audience.readers === 1) audience.cancelWhenGone = false;
        },
        [Symbol.dispose]() {
          // A stream may be disposed twice. Counting it twice would cancel another reader's run.
          if (!attached) return;
          attached = false;
          if (--audience.readers === 0) leaveSoon(run, audience);
        },
      };
    },
    /**
     * Call when this process claims a run. If its client asked to cancel it, and may have disconnected with another
     * process, the run is cancelled after 20 s without a reader at any replica. Resolves once it has a reader, or the
     * replicas cannot be asked, or `signal` aborts: until then, the run must not begin a turn that no client may read.
     */
    async claimed(run: RunRecord, signal: AbortSignal): Promise<void> {
      if (!mayBeAbandoned(run)) return;
      const known = audiences.get(run.runId);
      if (known) known.cancelWhenGone = true;
      // Its reader is at this replica, or disconnected within the grace time.
      if (known && !known.awaited) return;
      // Not the one of an earlier claim by this process, which is resolved.
      const awaited = Promise.withResolvers<void>();
      const audience: Audience = known ?? { readers: 0, cancelWhenGone: true };
      audience.awaited = awaited;
      if (!known) leaveSoon(run, audience, CLAIM_GRACE_MS);
      audiences.set(run.runId, audience);
      if (!bus.healthy) return;
      const { promise, resolve } = awaited;
      signal.addEventListener("abort", () => resolve(), { once: true });
      ask(run.runId, {
        present() {
          resolve();
          if (audience.readers > 0) return;
          clearTimer(audience.leaving);
          audiences.delete(run.runId);
        },
        absent() {},
      });
      await promise;
    },
    [Symbol.dispose]: () => questions[Symbol.dispose](),
  };
}

interface Answer {
  /** Another replica has a reader, and is responsible from now on. */
  present(): void;
  absent(): void;
}

/** Asks the other replicas for readers of runs, and answers their questions. */
function createQuestions(bus: Bus, audiences: ReadonlyMap<string, Audience>) {
  /** Runs that other replicas are asked about, each with the action for a reader there. */
  const asked = new Map<string, () => void>();
  const subscriptions = new DisposableStack();
  subscriptions.use(
    bus.subscribe("readers.wanted", (runId) => {
      const audience = typeof runId === "string" ? audiences.get(runId) : undefined;
      // Without a reader since its claim, the run is looked for here too.
      if (!audience || audience.awaited) return;
      audience.cancelWhenGone = true;
      bus.publish("readers.present", runId);
    }),
  );
  subscriptions.use(
    bus.subscribe("readers.present", (runId) => {
      if (typeof runId === "string") asked.get(runId)?.();
    }),
  );
  return {
    ask(runId: string, { present, absent }: Answer): void {
      const decision = setTimeout(() => {
        asked.delete(runId);
        absent();
      }, ANSWER_MS);
      decision.unref();
      asked.set(runId, () => {
        asked.delete(runId);
        clearTimer(decision);
        present();
      });
      bus.publish("readers.wanted", runId);
    },
    [Symbol.dispose]: () => subscriptions[Symbol.dispose](),
  };
}
