import { ModelError, type ModelEvent, type ModelTurn, type PartialUsage } from "../ports/model-provider.ts";
import { truncated, unreadable } from "./model-failure.ts";
import { readSse } from "./sse-reader.ts";

/** Builds one turn out of a wire's events. Throws `ModelError` for an error that the wire reports in mid-stream. */
export interface Accumulator<Event> {
  take(event: Event): ModelEvent | undefined;
  /** The turn, once the wire's terminal event was taken. */
  end(): ModelTurn | undefined;
  /** What was used so far; undefined before the model began to answer. */
  soFar(): PartialUsage | undefined;
}

/** What a wire's adapter knows of one turn. */
export interface WireTurn<Event> {
  provider: string;
  accumulator: Accumulator<Event>;
  /** Makes the request; batches of events follow. Leaving them early, or an abort, must end the connection. */
  open(signal: AbortSignal): Promise<AsyncIterable<readonly Event[]>>;
  /** Says what went wrong, in the port's terms. */
  failure(error: unknown): ModelError;
}

const ACTIVITY: ModelEvent = { type: "activity" };

/** Runs one turn over a wire: the order of events, abort, truncation and failures are the same for all of them. */
export async function* streamTurn<Event>(
  { provider, accumulator, open, failure }: WireTurn<Event>,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, void, undefined> {
  signal.throwIfAborted();
  // A controller of its own: the run's signal outlives many turns and must not gather their listeners.
  const connection = new AbortController();
  const abort = () => connection.abort(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  let ended = false;
  try {
    for await (const batch of await open(connection.signal)) {
      let silent = true;
      for (const event of batch) {
        const shown = accumulator.take(event);
        if (shown) yield shown;
        if (shown) silent = false;
        signal.throwIfAborted();
      }
      // A call's arguments may stream for minutes: the reader must know that the provider is alive.
      if (silent) yield ACTIVITY;
    }
    // An aborted connection can look like one that ended well.
    signal.throwIfAborted();
    ended = true;
    const turn = accumulator.end();
    if (!turn) throw truncated(provider);
    yield { type: "end", turn };
  } catch (error) {
    const used = accumulator.soFar();
    if (used) yield { type: "cut", ...used };
    if (signal.aborted) throw signal.reason;
    throw error instanceof ModelError ? error : failure(error);
  } finally {
    signal.removeEventListener("abort", abort);
    // An abort is dear, and of a connection that has ended nothing is left to abort.
    if (!ended) connection.abort();
  }
}

/** The parsed JSON events of an SSE body. `[DONE]`, which is no JSON, is left out. */
export async function* readJsonEvents<Event>(
  provider: string,
  body: AsyncIterable<Uint8Array> | null,
): AsyncGenerator<Event[], void, undefined> {
  if (!body) throw truncated(provider);
  for await (const batch of readSse(body)) {
    const events: Event[] = [];
    for (const { data } of batch) if (data !== "[DONE]") events.push(parse(provider, data) as Event);
    yield events;
  }
}

function parse(provider: string, data: string): object {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (cause) {
    throw unreadable(provider, cause);
  }
  if (typeof value !== "object" || value === null) throw unreadable(provider, undefined);
  return value;
}
