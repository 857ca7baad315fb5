import type { JsonValue } from "@patchbay/kit";
import type { LiveEvent } from "@patchbay/protocol";
import { type Bus, liveSubjectOf, MAX_BODY_BYTES } from "../../ports/bus.ts";
import { createKeyedSets } from "../../ports/by-key.ts";
import { ends, type StoredEvent } from "../../ports/store/run-store.ts";

/**
 * A message to a run's follower: the events just stored; the last stored event's number, when the follower may have
 * missed some; or one live event. A `modelStatus` comes as `status` next to that number, for followers without live
 * events too: replicas with earlier versions read only the number.
 */
export type FeedMessage = { stored: StoredEvent[] } | { upTo: number; status?: string } | { live: string };

/** Even escaped in JSON and encoded in UTF-8, this many characters fit into a bus message. */
const SAFE_CHARS = MAX_BODY_BYTES / 4;
/** Runs whose follower a peer announced before this process owned them. The log poller announces older ones again. */
const MOST_EARLY = 1_000;

const subjectOf = (runId: string): string => `run.${runId}`;
/** Ids of runs that a replica follows and does not own. */
const FOLLOWED = "followed";

/** A run that this process works on. Its followers here are called directly. */
interface Owned {
  lastSeq: number;
  ended: boolean;
  /** True when other replicas may have followers: its events are then published on the bus, too. */
  followed: boolean;
}

interface Follower {
  receive: (message: FeedMessage) => void;
  live: boolean;
  /** Its subscriptions on the bus, while this process does not own the run. */
  listening?: Disposable | undefined;
}

/** This replica's followers. Those of runs that other processes own listen on the bus. */
function createFollowers(bus: Bus, isOwned: (runId: string) => boolean) {
  const followers = createKeyedSets<Follower>();

  function listen(runId: string, follower: Follower): void {
    const take = (body: JsonValue): void => follower.receive(body as unknown as FeedMessage);
    const subscriptions = new DisposableStack();
    subscriptions.use(bus.subscribe(subjectOf(runId), take));
    if (follower.live) subscriptions.use(bus.subscribe(liveSubjectOf(runId), take));
    follower.listening = subscriptions;
  }

  function announce(runIds: readonly string[]): void {
    const elsewhere = runIds.filter((runId) => followers.of(runId).size > 0 && !isOwned(runId));
    if (elsewhere.length > 0) bus.publish(FOLLOWED, elsewhere);
  }

  return {
    of: followers.of,
    /** This process owns the run now, and calls its followers directly. */
    owned(runId: string, lastSeq: number): void {
      for (const follower of followers.of(runId)) {
        follower.listening?.[Symbol.dispose]();
        follower.listening = undefined;
        follower.receive({ upTo: lastSeq });
      }
    },
    /** The run now belongs to another replica, or to none. */
    disowned(runId: string): void {
      for (const follower of followers.of(runId)) {
        listen(runId, follower);
        follower.receive({ upTo: Infinity });
      }
      announce([runId]);
    },
    add(runId: string, follower: Follower): Disposable {
      const added = followers.add(runId, follower);
      if (!isOwned(runId)) {
        listen(runId, follower);
        announce([runId]);
      }
      return {
        [Symbol.dispose]() {
          follower.listening?.[Symbol.dispose]();
          added[Symbol.dispose]();
        },
      };
    },
    announce,
  };
}

/**
 * Sends runs' events to their followers on all replicas. Stored events are published only after their commit. A run
 * without followers on other replicas sends nothing over the bus.
 */
export function createFeed(bus: Bus) {
  const owned = new Map<string, Owned>();
  const followers = createFollowers(bus, (runId) => owned.has(runId));
  const early = new Set<string>();

  bus.subscribe(FOLLOWED, (runIds) => {
    for (const runId of Array.isArray(runIds) ? runIds : []) if (typeof runId === "string") noteFollower(runId);
  });

  function noteFollower(runId: string): void {
    const entry = owned.get(runId);
    if (entry) {
      entry.followed = true;
      // The follower subscribed before it announced itself, and has read the log or will. It may have missed the events
      // in between.
      return bus.publish(subjectOf(runId), { upTo: entry.lastSeq });
    }
    early.add(runId);
    if (early.size > MOST_EARLY) early.delete(early.values().next().value!);
  }

  /** Followers that are called directly: all those of a run that this process owns, none otherwise. */
  const called = (runId: string, entry: Owned | undefined) => (entry ? followers.of(runId) : []);

  return {
    /**
     * Marks this process as the only writer of the run's log, which ends with event `lastSeq`, until disposed. `begun`: the run
     * was started here, so that a replica with a follower announces it to this process.
     */
    own(runId: string, lastSeq: number, { begun }: { begun: boolean }): Disposable {
      const entry = { lastSeq, ended: false, followed: !begun || early.delete(runId) };
      owned.set(runId, entry);
      followers.owned(runId, lastSeq);
      return {
        [Symbol.dispose]() {
          // The process may have lost the lease and claimed the run again: the entry of the newer claim must stay.
          if (owned.get(runId) !== entry) return;
          owned.delete(runId);
          if (entry.ended) return;
          // The run may wait now, which no event says: followers read its state.
          if (entry.followed) bus.publish(subjectOf(runId), { upTo: Number.MAX_SAFE_INTEGER });
          followers.disowned(runId);
        },
      };
    },
    /** The last published event's number for a run that this process owns; undefined for other runs. */
    lastPublished: (runId: string): number | undefined => owned.get(runId)?.lastSeq,
    publishStored(runId: string, events: StoredEvent[]): void {
      const entry = owned.get(runId);
      const last = events.at(-1);
      if (entry && last) Object.assign(entry, { lastSeq: last.seq, ended: ends(last.body) });
      const stored = events.map(({ seq, body }) => ({ seq, body }));
      for (const { receive } of called(runId, entry)) receive({ stored });
      if (entry && !entry.followed) return;
      const subject = subjectOf(runId);
      bus.publish(subject, { stored });
      // The bus may drop a message that is too large. Followers on other replicas then read the log up to this number.
      const chars = events.reduce((sum, { body }) => sum + body.length, 0);
      if (chars > SAFE_CHARS) bus.publish(subject, { upTo: last?.seq ?? 0 });
    },
    publishLive(runId: string, event: LiveEvent): void {
      const entry = owned.get(runId);
      const isStatus = event.type === "modelStatus";
      const encode = (body: string) => (isStatus ? { upTo: entry?.lastSeq ?? 0, status: body } : { live: body });
      let message: ReturnType<typeof encode> | undefined;
      const encoded = () => (message ??= encode(JSON.stringify(event)));
      for (const { live, receive } of called(runId, entry)) if (live || isStatus) receive(encoded());
      if (entry && !entry.followed) return;
      const subject = isStatus ? subjectOf(runId) : liveSubjectOf(runId);
      if (bus.reaches(subject)) bus.publish(subject, encoded());
    },
    subscribe: (runId: string, receive: (message: FeedMessage) => void, { live }: { live: boolean }): Disposable =>
      followers.add(runId, { receive, live }),
    /** Announces again which of these runs are followed here: the bus may have lost it. */
    announce: followers.announce,
    get healthy(): boolean {
      return bus.healthy;
    },
  };
}
export type Feed = ReturnType<typeof createFeed>;
