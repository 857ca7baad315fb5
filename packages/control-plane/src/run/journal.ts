import type { LiveEvent, RunEvent } from "@patchbay/protocol";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { AuditEntry, RunRecord } from "../ports/records.ts";
import type { RunCommit, RunStore, StoredEvent } from "../ports/run-store.ts";
import type { Feed } from "./feed.ts";
import { patiently } from "./patience.ts";

export interface JournalDeps {
  runs: RunStore;
  feed: Feed;
  clock: Clock;
  log: Log;
}

export type JournalEntry = Omit<RunCommit, "events"> & { events?: RunEvent[] };

/**
 * The one writer of a run's log. Entries are stored one after the other, each whole or not at all, and shown to followers only
 * once they are stored. While the store is out of reach an entry waits; a lost lease is thrown at once.
 */
export interface Journal {
  /** Says what was held by the entry's `hold`, as far as that is known. */
  write(entry: JournalEntry): Promise<{ heldMicros: number }>;
  /** Shows an event that is not kept. */
  live(event: LiveEvent): void;
}

export function createJournal(
  run: Pick<RunRecord, "runId" | "fence">,
  lastSeq: number,
  { runs, feed, clock, log }: JournalDeps,
  signal: AbortSignal,
  /** Audit entries that are stored with whatever is written first. */
  opening: readonly AuditEntry[] = [],
): Journal {
  let seq = lastSeq;
  let unsaid = opening;
  let tail: Promise<unknown> = Promise.resolve();

  async function store(entry: JournalEntry): Promise<{ heldMicros: number }> {
    const events: StoredEvent[] = (entry.events ?? []).map((event, i) => ({
      seq: seq + i + 1,
      body: JSON.stringify(event),
    }));
    // A terminal entry is written whatever the signal says: it is how an aborted run ends.
    const until = entry.finish ? {} : { signal };
    const audit = [...unsaid, ...(entry.audit ?? [])];
    const held = await patiently(() => runs.commit(run, { ...entry, events, audit }), { clock, log, ...until });
    unsaid = [];
    seq += events.length;
    if (events.length > 0) feed.stored(run.runId, events);
    return held;
  }

  return {
    write(entry) {
      const written = tail.then(() => store(entry));
      tail = written.catch(() => {});
      return written;
    },
    live: (event) => feed.live(run.runId, event),
  };
}
