import { createParser } from "eventsource-parser";
import {
  ModelError,
  type ModelDelta,
  type ModelEvent,
  type ModelProvider,
  type ModelRequest,
  type ModelTurn,
  type PartialUsage,
} from "../ports/model-provider.ts";
import { requestFailure, truncated, unreadable } from "./model-failure.ts";
import type { WireNames } from "./wire-names.ts";

/** What an accumulator must know of its request. `warnings` may get more while the turn is read. */
export interface TurnOptions {
  model: string;
  names: WireNames;
  warnings: string[];
}

/** Builds one turn out of a wire's events. Throws `ModelError` for an error that the wire reports in mid-stream. */
export interface Accumulator<Event> {
  take(event: Event): ModelDelta | undefined;
  /** The turn, once the wire's terminal event was taken. */
  end(): ModelTurn | undefined;
  /** What was used so far; undefined before the model began to answer. */
  soFar(): PartialUsage | undefined;
}

/** What a wire's adapter provides for one turn. */
interface WireTurn<Event> {
  accumulator: Accumulator<Event>;
  /** Sends the request; the events follow in the body. Leaving them early, or an abort, must end the connection. */
  open(signal: AbortSignal): Promise<Pick<Response, "body">>;
}

/** A provider whose turns arrive as server-sent events with JSON. */
export function wireProvider<Event>(name: string, begin: (request: ModelRequest) => WireTurn<Event>): ModelProvider {
  return { name, stream: (request, { signal }) => streamTurn(name, begin(request), signal) };
}

/** Runs one turn over a wire: the order of events, abort, truncation and failures are the same for all of them. */
async function* streamTurn<Event>(
  provider: string,
  { accumulator, open }: WireTurn<Event>,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, void, undefined> {
  signal.throwIfAborted();
  // A controller of its own: the run's signal outlives many turns and must not gather their listeners.
  const connection = new AbortController();
  const abort = () => connection.abort(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const read = createSseReader();
  let deltas: ModelDelta[] = [];
  let ended = false;
  try {
    const { body } = await open(connection.signal);
    if (!body) throw truncated(provider);
    for await (const bytes of body as AsyncIterable<Uint8Array>) {
      for (const data of read(bytes)) {
        const delta = data === DONE ? undefined : accumulator.take(parse(provider, data) as Event);
        if (delta) deltas.push(delta);
      }
      // Also without deltas: a call's arguments may stream for minutes, and the reader must know that the provider is alive.
      const shown = deltas;
      deltas = [];
      yield { type: "deltas", deltas: shown };
      signal.throwIfAborted();
    }
    // An aborted connection can look like one that ended well.
    signal.throwIfAborted();
    ended = true;
    const turn = accumulator.end();
    if (!turn) throw truncated(provider);
    yield { type: "end", turn };
  } catch (error) {
    // They preceded the error in the same bytes.
    if (deltas.length > 0) yield { type: "deltas", deltas };
    const used = accumulator.soFar();
    if (used) yield { type: "cut", ...used };
    if (signal.aborted) throw signal.reason;
    throw error instanceof ModelError ? error : requestFailure(provider, error);
  } finally {
    signal.removeEventListener("abort", abort);
    // An abort is expensive, and a connection that has ended needs none.
    if (!ended) connection.abort();
  }
}

/** Ends the events of some wires. It is not JSON. */
const DONE = "[DONE]";

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

/**
 * Which calls of a turn may run, by the same rule for every wire: only if the wire ended the turn for calls. A turn that was
 * cut, refused or stopped otherwise runs no call, even if a call in it looks complete.
 */
export function settleTurn({ stop, calls, refusal, warnings, ...rest }: ReadTurn): ModelTurn {
  const mayRun = stop === "calls";
  return {
    stop: mayRun && calls.length === 0 ? "stop" : stop,
    calls: mayRun ? calls : [],
    ...rest,
    ...(stop === "length" && calls.length > 0 && { cutCall: true }),
    ...(refusal && { refusal }),
    ...(warnings.length > 0 && { warnings }),
  };
}

/** A turn as it was read, with all its calls. */
type ReadTurn = Omit<ModelTurn, "refusal" | "warnings"> & { refusal?: string | undefined; warnings: string[] };

/** A provider's count of tokens as a whole number of at least 0. Compatible servers send text, negative numbers and nothing. */
export function tokenCount(value: unknown, warnings: string[]): number {
  if (value === undefined || value === null) return 0;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  const number = typeof value === "string" || typeof value === "number" ? Math.round(Number(value)) : 0;
  const counted = Number.isSafeInteger(number) && number > 0 ? number : 0;
  const warning = `The provider reported ${JSON.stringify(value)} as a number of tokens, which was counted as ${counted}.`;
  if (!warnings.includes(warning)) warnings.push(warning);
  return counted;
}

/** Longest data of one event, in UTF-16 units: an answer's closing event can repeat the whole answer. */
const MAX_DATA_UNITS = 16 * 1024 * 1024;

/** Cuts bytes into the data of events, wherever the bytes were split. Drops an incomplete event at the end of the bytes. */
export function createSseReader(): (bytes: Uint8Array) => string[] {
  const decoder = new TextDecoder();
  let found: string[] = [];
  const parser = createParser({
    maxBufferSize: MAX_DATA_UNITS,
    onEvent: ({ data }) => void found.push(data),
    onError({ type }) {
      if (type === "max-buffer-size-exceeded")
        throw new ModelError("server", `the stream has an event above ${MAX_DATA_UNITS} characters`);
    },
  });
  return (bytes) => {
    found = [];
    parser.feed(decoder.decode(bytes, { stream: true }));
    return found;
  };
}
