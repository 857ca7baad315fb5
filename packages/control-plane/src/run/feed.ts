import type { LiveEvent } from "@patchbay/protocol";
import type { Bus } from "../ports/bus.ts";
import type { StoredEvent } from "../ports/run-store.ts";

/** What travels on a run's subject: events that were just stored, or one that is only shown. */
export type Beat = { stored: StoredEvent[] } | { live: string };

const subjectOf = (runId: string): string => `run.${runId}`;

/** Tells followers of a run what happened. Stored events are in the log before they are told. */
export function createFeed(bus: Bus) {
  return {
    stored(runId: string, events: StoredEvent[]): void {
      bus.publish(subjectOf(runId), { stored: events.map(({ seq, body }) => ({ seq, body })) });
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
