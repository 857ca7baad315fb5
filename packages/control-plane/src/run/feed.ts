import type { LiveEvent } from "@patchbay/protocol";
import { type Bus, MAX_BODY_BYTES } from "../ports/bus.ts";
import type { StoredEvent } from "../ports/run-store.ts";

/**
 * What travels on a run's subject: events that were just stored, or, where they may be too large for the bus, the number of the
 * last of them; or one that is only shown.
 */
export type Beat = { stored: StoredEvent[] } | { upTo: number } | { live: string };

/** Escaped in JSON and in UTF-8, this many characters are certain to fit the bus. */
const CERTAIN_CHARS = MAX_BODY_BYTES / 4;

const subjectOf = (runId: string): string => `run.${runId}`;

/** Tells followers of a run what happened. Stored events are in the log before they are told. */
export function createFeed(bus: Bus) {
  return {
    stored(runId: string, events: StoredEvent[]): void {
      const subject = subjectOf(runId);
      bus.publish(subject, { stored: events.map(({ seq, body }) => ({ seq, body })) });
      const chars = events.reduce((sum, { body }) => sum + body.length, 0);
      if (chars > CERTAIN_CHARS) bus.publish(subject, { upTo: events.at(-1)?.seq ?? 0 });
    },
    live(runId: string, event: LiveEvent): void {
      bus.publish(subjectOf(runId), { live: JSON.stringify(event) });
    },
    listen(runId: string, receive: (beat: Beat) => void): Disposable {
      return bus.subscribe(subjectOf(runId), (body) => receive(body as unknown as Beat));
    },
    get healthy(): boolean {
      return bus.healthy;
    },
  };
}
export type Feed = ReturnType<typeof createFeed>;
