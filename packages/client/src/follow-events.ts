import type { LiveEvent, RunEvent } from "@patchbay/protocol";
import { PatchbayError } from "./patchbay-error.ts";
import { pause } from "./pause.ts";
import { readServerSentEvents } from "./server-sent-events.ts";

/** One run event, with its position in the run's log. */
export interface StreamedEvent {
  event: RunEvent | LiveEvent;
  /** Number in the run's log, for `after`; undefined for live events (deltas, progress), which are not stored. */
  id: number | undefined;
  /** The lines of the event. */
  raw: string;
}

export interface FollowEventsOptions {
  /** Opens the events after `lastId` (undefined: from the first one); undefined when none are left. */
  resume: (lastId: number | undefined) => Promise<Response | undefined>;
  /** Id of the event that precedes the first response. */
  after?: number | undefined;
  /** Attempts in a row without a new event before the stream counts as lost. Default 8. */
  maxRetries?: number | undefined;
  /** Whether `resume` may be tried again after this error. Default: not after a `PatchbayError` that is not `transient`. */
  isTransient?: (error: unknown) => boolean;
  signal?: AbortSignal | undefined;
  /** For tests. Default: waits `ms`. */
  pause?: typeof pause;
  /** For tests. Default: `performance.now()`. */
  now?: () => number;
}

const RETRY_MS = 250;
const MAX_PAUSE_MS = 8_000;
/** A stream that was open this long did not fail: while a run waits for a person, its stream ends every few minutes. */
const HELD_MS = 30_000;

/**
 * Follows a run to its last event (`finalResponse` or `error`), each stored event once and in order. A broken stream is
 * resumed after the last stored event, with growing pauses from the server's `retry:` on. Live events that were sent
 * while it was broken are lost.
 *
 * Throws `stream_lost` after `maxRetries`, what `resume` throws when that is not transient, and `signal.reason` on
 * abort.
 */
export async function* followEvents(
  first: Response | undefined,
  { resume, after, signal, maxRetries = 8, isTransient = mayPass, ...more }: FollowEventsOptions,
): AsyncGenerator<StreamedEvent, void, undefined> {
  const { pause: wait = pause, now = () => performance.now() } = more;
  let response = first;
  let openedAt: number | undefined = now();
  let lastId = after;
  let retryMs = RETRY_MS;
  let cause: unknown;
  for (let tries = 0; tries <= maxRetries; tries += 1) {
    try {
      if (tries > 0) {
        openedAt = undefined;
        response = await resume(lastId);
        openedAt = now();
      }
      if (!response?.body) return;
      for await (const { id, data, raw } of readServerSentEvents(response.body, (ms) => (retryMs = ms))) {
        const followed = { event: parseEvent(data), id: id === undefined ? undefined : Number(id), raw };
        // A proxy may drop Last-Event-ID: the service then replays the whole log.
        if (followed.id !== undefined && lastId !== undefined && followed.id <= lastId) continue;
        lastId = followed.id ?? lastId;
        tries = 0;
        yield followed;
        if (followed.event.type === "finalResponse" || followed.event.type === "error") return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!isTransient(error)) throw error;
      cause = error;
    }
    signal?.throwIfAborted();
    if (openedAt !== undefined && now() - openedAt >= HELD_MS) tries = 0;
    if (tries < maxRetries) await wait(Math.min(retryMs * 2 ** tries, MAX_PAUSE_MS), signal);
  }
  throw new PatchbayError(
    "stream_lost",
    "The connection broke and the event stream could not be resumed. The run continues on the service.",
    { cause },
  );
}

/** Errors from the body's reader count as a broken connection. */
function mayPass(error: unknown): boolean {
  return !(error instanceof PatchbayError) || error.transient;
}

function parseEvent(data: string): RunEvent | LiveEvent {
  try {
    return JSON.parse(data) as RunEvent | LiveEvent;
  } catch (cause) {
    throw new PatchbayError("invalid_response", "The event stream contains an event that is not JSON.", { cause });
  }
}
