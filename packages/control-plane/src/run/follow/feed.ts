import type { JsonValue, LiveEvent } from "@patchbay/protocol";
import { type Bus, MAX_BODY_BYTES } from "../../ports/bus.ts";
import type { StoredEvent } from "../../ports/run-store.ts";

/**
 * A message on a run's subjects: the events that were just stored; the number of the last of them, when they may exceed the size
 * limit of the bus; or one live event.
 */
export type FeedMessage = { stored: StoredEvent[] } | { upTo: number } | { live: string };

/** Even escaped in JSON and encoded in UTF-8, this many characters fit into a bus message. */
const SAFE_CHARS = MAX_BODY_BYTES / 4;

const subjectOf = (runId: string): string => `run.${runId}`;
/** A subject of its own: most live events have no subscriber, and are then neither encoded nor sent. */
const liveSubjectOf = (runId: string): string => `live.${runId}`;

/** Publishes the events of runs to their followers on all replicas. Stored events are published only after their commit. */
export function createFeed(bus: Bus) {
  const owned = new Map<string, { lastSeq: number; liveSubject: string }>();
  return {
    /** Marks this process as the only writer of the run's log, which ends with event `lastSeq`, until disposed. */
    own(runId: string, lastSeq: number): Disposable {
      const entry = { lastSeq, liveSubject: liveSubjectOf(runId) };
      owned.set(runId, entry);
      return {
        [Symbol.dispose]() {
          // The process may have lost the lease and claimed the run again: the entry of the newer claim must stay.
          if (owned.get(runId) === entry) owned.delete(runId);
        },
      };
    },
    /** Number of the last published event of a run that this process owns; undefined for other runs. */
    lastPublished: (runId: string): number | undefined => owned.get(runId)?.lastSeq,
    publishStored(runId: string, events: StoredEvent[]): void {
      const entry = owned.get(runId);
      if (entry) entry.lastSeq = events.at(-1)?.seq ?? entry.lastSeq;
      const subject = subjectOf(runId);
      bus.publish(subject, { stored: events.map(({ seq, body }) => ({ seq, body })) });
      // The bus may drop a message that is too large. Followers on other replicas then read the log up to this number.
      const chars = events.reduce((sum, { body }) => sum + body.length, 0);
      if (chars > SAFE_CHARS) bus.publish(subject, { upTo: events.at(-1)?.seq ?? 0 });
    },
    publishLive(runId: string, event: LiveEvent): void {
      const subject = owned.get(runId)?.liveSubject ?? liveSubjectOf(runId);
      if (bus.reaches(subject)) bus.publish(subject, { live: JSON.stringify(event) });
    },
    subscribe(runId: string, receive: (message: FeedMessage) => void, { live }: { live: boolean }): Disposable {
      const take = (body: JsonValue): void => receive(body as unknown as FeedMessage);
      const subscriptions = new DisposableStack();
      subscriptions.use(bus.subscribe(subjectOf(runId), take));
      if (live) subscriptions.use(bus.subscribe(liveSubjectOf(runId), take));
      return subscriptions;
    },
    get healthy(): boolean {
      return bus.healthy;
    },
  };
}
export type Feed = ReturnType<typeof createFeed>;
