import type { Clock } from "../ports/clock.ts";
import type { Followed } from "../run/api.ts";
import { ends } from "../run/last-event.ts";

/** Text held for a client that reads slowly; past it nothing more is asked of the run. */
const READ_AHEAD = 65_536;
const KEEPALIVE = ": keepalive\n\n";
/** Tells a client to resume: the stream ended before its run did. */
const RETRY = "retry: 1000\n\n";

export interface EventStreamOptions {
  follow(signal: AbortSignal): AsyncIterable<Followed>;
  /** Aborted when the client may see no more: the stream then ends after the last complete event that was sent. */
  revoked: AbortSignal;
  /** The form of an event's JSON for this client; absent for endpoint 2's. */
  translate?: (body: string) => string;
  clock: Clock;
  keepaliveMs: number;
  maxAgeMs: number;
  /** Cuts the connection of a client that reads nothing although its stream is over its age. */
  cut(): void;
  /** Called once, when the stream has ended for whatever reason. */
  onEnd(): void;
  /** The log could not be read on; the client was told to resume. */
  onFailure(error: unknown): void;
}

/**
 * A run's events as the bytes of a server-sent stream. Reads the run only as fast as the client reads the stream; events that
 * are there in one tick become one chunk. Ends after the terminal event, or after a complete event with a `retry:` line.
 */
export function eventStream(options: EventStreamOptions): ReadableStream<Uint8Array> {
  const { revoked, translate, clock, keepaliveMs, cut, onEnd, onFailure } = options;
  const gone = new AbortController();
  const events = options.follow(gone.signal)[Symbol.asyncIterator]();
  const endsAt = clock.now() + options.maxAgeMs;
  const timer = setTimeout(onSilence, Math.min(staggered(keepaliveMs), options.maxAgeMs)).unref();

  let pending = "";
  let lastBody = "";
  let asking = false;
  let finished = false;
  let closed = false;
  let flushing = false;
  let deliver: ((chunk: string) => void) | undefined;

  function ask(): void {
    if (asking || finished || closed || pending.length >= READ_AHEAD) return;
    asking = true;
    events.next().then(take).catch(fail);
  }

  function take(step: IteratorResult<Followed>): void {
    asking = false;
    if (closed || finished) return;
    if (step.done) return finish();
    lastBody = step.value.body;
    pending += frame(step.value, translate);
    flushSoon();
    ask();
  }

  function fail(error: unknown): void {
    if (closed || finished) return;
    onFailure(error);
    finish();
  }

  function finish(): void {
    if (!ends(lastBody)) pending += RETRY;
    finished = true;
    flushSoon();
  }

  function revoke(): void {
    if (closed || finished) return;
    pending = "";
    lastBody = "";
    finish();
  }

  /** Waits for the rest of this tick's events, which arrive before the next immediate. */
  function flushSoon(): void {
    if (flushing || !deliver) return;
    flushing = true;
    setImmediate(() => {
      flushing = false;
      flush();
    });
  }

  function flush(): void {
    if (!deliver || (pending === "" && !finished)) return;
    const chunk = pending;
    pending = "";
    timer.refresh();
    deliver(chunk);
  }

  function onSilence(): void {
    if (clock.now() >= endsAt) return expire();
    if (deliver && pending === "") {
      pending = KEEPALIVE;
      flush();
    } else timer.refresh();
  }

  function expire(): void {
    if (!deliver) return cut();
    if (!finished) finish();
  }

  function end(): void {
    if (closed) return;
    closed = true;
    // A flush may be due yet, and a stream that was cancelled takes no more bytes.
    deliver = undefined;
    clearTimeout(timer);
    revoked.removeEventListener("abort", revoke);
    gone.abort();
    events.return?.().catch(() => undefined);
    onEnd();
  }

  revoked.addEventListener("abort", revoke);
  if (revoked.aborted) revoke();

  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) =>
        new Promise((resolve) => {
          deliver = (chunk) => {
            deliver = undefined;
            if (chunk !== "") controller.enqueue(Buffer.from(chunk));
            if (finished) {
              controller.close();
              end();
            } else if (clock.now() >= endsAt) finish();
            resolve();
          };
          if (pending === "" && !finished) ask();
          else flush();
        }),
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

function frame({ id, body }: Followed, translate: EventStreamOptions["translate"]): string {
  const data = translate ? translate(body) : body;
  return id === undefined ? `data: ${data}\n\n` : `id: ${id}\ndata: ${data}\n\n`;
}

/** Spreads the keepalives of streams that fell silent together; few distinct delays, so that they share timer lists. */
function staggered(keepaliveMs: number): number {
  return Math.ceil(keepaliveMs * (1 - Math.floor(Math.random() * 8) / 16));
}
