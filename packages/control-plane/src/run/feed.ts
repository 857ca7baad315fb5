import type { JsonValue, LiveEvent } from "@patchbay/protocol";
import { type Bus, MAX_BODY_BYTES } from "../ports/bus.ts";
import type { StoredEvent } from "../ports/run-store.ts";

/**
 * What travels on a run's subjects: events that were just stored, or, where they may be too large for the bus, the number of the
 * last of them; or one that is only shown.
 */
export type Beat = { stored: StoredEvent[] } | { upTo: number } | { live: string };

/** Escaped in JSON and in UTF-8, this many characters are certain to fit the bus. */
const CERTAIN_CHARS = MAX_BODY_BYTES / 4;

const subjectOf = (runId: string): string => `run.${runId}`;
/** Kept apart: most of what is only shown nobody asks for. */
const liveSubjectOf = (runId: string): string => `live.${runId}`;

/** Tells followers of a run what happened. Stored events are in the log before they are told. */
export function createFeed(bus: Bus) {
  const working = new Map<string, { lastSeq: number; liveSubject: string }>();
  return {
    /** From here on this process alone writes the run's log, which ends with event `lastSeq`; until disposed. */
    works(runId: string, lastSeq: number): Disposable {
      const log = { lastSeq, liveSubject: liveSubjectOf(runId) };
      working.set(runId, log);
      return {
        [Symbol.dispose]() {
          // After a lease was lost and won back, the same run may be worked on here anew.
          if (working.get(runId) === log) working.delete(runId);
        },
      };
    },
    /** Number of the last event that was told of a run which this process works on; undefined for any other. */
    lastTold: (runId: string): number | undefined => working.get(runId)?.lastSeq,
    stored(runId: string, events: StoredEvent[]): void {
      const log = working.get(runId);
      if (log) log.lastSeq = events.at(-1)?.seq ?? log.lastSeq;
      const subject = subjectOf(runId);
      bus.publish(subject, { stored: events.map(({ seq, body }) => ({ seq, body })) });
      const chars = events.reduce((sum, { body }) => sum + body.length, 0);
      if (chars > CERTAIN_CHARS) bus.publish(subject, { upTo: events.at(-1)?.seq ?? 0 });
    },
    live(runId: string, event: LiveEvent): void {
      const subject = working.get(runId)?.liveSubject ?? liveSubjectOf(runId);
      if (bus.reaches(subject)) bus.publish(subject, { live: JSON.stringify(event) });
    },
    listen(runId: string, receive: (beat: Beat) => void, { live }: { live: boolean }): Disposable {
      const take = (body: JsonValue): void => receive(body as unknown as Beat);
      const listening = new DisposableStack();
      listening.use(bus.subscribe(subjectOf(runId), take));
      if (live) listening.use(bus.subscribe(liveSubjectOf(runId), take));
      return listening;
    },
    get healthy(): boolean {
      return bus.healthy;
    },
  };
}
export type Feed = ReturnType<typeof createFeed>;
