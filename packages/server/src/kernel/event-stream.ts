import { clearTimer, randomFraction, setImmediate, setTimeout } from "@patchbay/kit/time";
import type { Clock } from "@patchbay/engine/ports/clock";
import { ends } from "@patchbay/engine/ports/store/run-store";
import type { Followed } from "@patchbay/engine/run/api";

/** UTF-16 units buffered for a slow client. Above this, no further event is requested from the run. */
const READ_AHEAD = 65_536;
const KEEPALIVE = ": keepalive\n\n";
/** Makes a client resume when the stream ends before its run. */
export const RETRY = "retry: 1000\n\n";

/**
 * Writes the events of one stream in its client's format. Each stream has its own, which may keep state between events.
 */
export interface Translator {
  /** What starts the stream. */
  open(): string;
  /** Any number of frames. The next event is read only after the promise resolves. */
  event(followed: Followed): string | Promise<string>;
  /** True when no further event is translated, although the run may continue. Default: false. */
  readonly ended?: boolean;
  /** What ends the stream, also before its run has ended or waits for an approval; the client then resumes. */
  close(): string;
}

/**
 * The query API's format: one frame per event, whose JSON `toBody` may convert. Clients without deltas know stored
 * events only: they get each live one as a comment, and an ordinary keepalive while the model is silent.
 */
export function queryTranslator(toBody?: (body: string) => string, { deltas = true } = {}): Translator {
  let last = "";
  return {
    open: () => "",
    event({ id, body }) {
      last = body;
      const data = toBody ? toBody(body) : body;
      if (id !== undefined) return `id: ${id}\ndata: ${data}\n\n`;
      if (deltas) return `data: ${data}\n\n`;
      return (JSON.parse(body) as { state?: string }).state === "silent" ? KEEPALIVE : `: ${data}\n\n`;
    },
    close: () => (ends(last) ? "" : RETRY),
  };
}

export interface EventStreamOptions {
  follow(signal: AbortSignal): AsyncIterable<readonly Followed[]>;
  /** Aborted when the client loses its access. The stream then ends after the last complete event sent. */
  revoked: AbortSignal;
  translator: Translator;
  clock: Clock;
  keepaliveMs: number;
  maxAgeMs: number;
  /** Closes the connection when a stream reaches its maximum age and its client reads nothing. */
  cut(): void;
  /** Also cuts a stream that ends before its run, for clients that resume only then. */
  cutsShort?: boolean;
  /** Called once, however the stream ends. */
  onEnd(): void;
  /** Called when the log can no longer be read. The client then resumes. */
  onFailure(error: unknown): void;
}

/**
 * A run's events as server-sent event bytes. Reads the run only as fast as the client reads the stream. Events that
 * arrive in one tick share a chunk. The stream ends after the run's last event, or after any complete event.
 */
export function eventStream(options: EventStreamOptions): ReadableStream<Uint8Array> {
  return new EventStream(options).readable;
}

class EventStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly #options: EventStreamOptions;
  readonly #gone = new AbortController();
  readonly #events: AsyncIterator<readonly Followed[]>;
  readonly #endsAt: number;
  readonly #timer: NodeJS.Timeout;

  #pending: string;
  #asking = false;
  /** No further event is sent; pending ones still are. */
  #finished = false;
  #isShort = false;
  #closed = false;
  #flushing = false;
  /** Set while the client waits for a chunk. */
  #deliver: ((chunk: string) => void) | undefined;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    const { clock, keepaliveMs, maxAgeMs, revoked } = options;
    this.#pending = options.translator.open();
    this.#events = options.follow(this.#gone.signal)[Symbol.asyncIterator]();
    this.#endsAt = clock.now() + maxAgeMs;
    this.#timer = setTimeout(() => this.#onSilence(), Math.min(staggered(keepaliveMs), maxAgeMs)).unref();
    revoked.addEventListener("abort", this.#revoke);
    if (revoked.aborted) this.#revoke();
    this.readable = new ReadableStream<Uint8Array>(
      { pull: (controller) => this.#pull(controller), cancel: () => this.#end() },
      { highWaterMark: 0 },
    );
  }

  #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#deliver = (chunk) => {
      this.#deliver = undefined;
      if (chunk !== "") controller.enqueue(Buffer.from(chunk));
      if (this.#finished) {
        if (this.#isShort && this.#options.cutsShort) this.#options.cut();
        controller.close();
        this.#end();
      } else if (this.#expired()) this.#finish();
      resolve();
    };
    if (this.#pending === "" && !this.#finished) this.#ask();
    else this.#flush();
    return promise;
  }

  #ask(): void {
    if (this.#asking || this.#finished || this.#closed || this.#pending.length >= READ_AHEAD) return;
    this.#asking = true;
    this.#takeNext().catch((error: unknown) => this.#fail(error));
  }

  async #takeNext(): Promise<void> {
    const { translator } = this.#options;
    const { done, value: events = [] } = await this.#events.next();
    for (const event of events) {
      if (this.#closed || this.#finished) return;
      const frames = translator.event(event);
      if (typeof frames !== "string") this.#flushSoon();
      this.#add(typeof frames === "string" ? frames : await frames);
    }
    this.#asking = false;
    if (done && !this.#closed && !this.#finished) this.#finish();
    this.#flushSoon();
    this.#ask();
  }

  #add(frames: string): void {
    if (this.#closed || this.#finished) return;
    this.#pending += frames;
    if (this.#options.translator.ended) this.#finish();
  }

  #fail(error: unknown): void {
    if (this.#closed || this.#finished) return;
    this.#options.onFailure(error);
    this.#finish();
  }

  #finish(last = this.#options.translator.close()): void {
    this.#pending += last;
    this.#isShort = last === RETRY;
    this.#finished = true;
    this.#flushSoon();
  }

  /** Drops pending frames: the client must no longer see them. */
  readonly #revoke = (): void => {
    if (this.#closed || this.#finished) return;
    this.#pending = "";
    this.#finish(RETRY);
  };

  /** Waits for this tick's other events, which arrive before the next immediate. */
  #flushSoon(): void {
    if (this.#flushing || !this.#deliver) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (!this.#deliver || (this.#pending === "" && !this.#finished)) return;
    const chunk = this.#pending;
    this.#pending = "";
    this.#timer.refresh();
    this.#deliver(chunk);
  }

  #onSilence(): void {
    if (this.#expired()) {
      if (!this.#deliver) this.#options.cut();
      else if (!this.#finished) this.#finish();
    } else if (this.#deliver && this.#pending === "") {
      this.#pending = KEEPALIVE;
      this.#flush();
    } else this.#timer.refresh();
  }

  #expired(): boolean {
    return this.#options.clock.now() >= this.#endsAt;
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    // A scheduled flush may follow, and writing to a cancelled stream throws.
    this.#deliver = undefined;
    clearTimer(this.#timer);
    this.#options.revoked.removeEventListener("abort", this.#revoke);
    this.#gone.abort();
    this.#events.return?.().catch(() => undefined);
    this.#options.onEnd();
  }
}

/**
 * Spreads the keepalives of streams that fell silent together. The delays are few, so that streams share timer lists.
 */
function staggered(keepaliveMs: number): number {
  return Math.ceil(keepaliveMs * (1 - Math.floor(randomFraction() * 8) / 16));
}
