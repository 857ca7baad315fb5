import { addAbortListener } from "node:events";
import { createParser } from "eventsource-parser";
import { isJsonObject, type JsonObject, parseJson, withExactArguments } from "@patchbay/kit";
import {
  ModelError,
  type ModelDelta,
  type ModelEvent,
  type ModelProvider,
  type ModelRequest,
  type ModelTurn,
  type PartialUsage,
  type TokenUsage,
} from "@patchbay/engine/ports/model-provider";
import { noStream, requestFailure, truncated, unreadable } from "./model-failure.ts";
import { splitThinking, thinkTags } from "./think-tags.ts";
import { unknownEnd } from "./wire-ends.ts";
import type { WireNames } from "./wire-names.ts";

/** What an accumulator needs from its request. It may add `warnings` while it reads the turn. */
export interface TurnOptions {
  model: string;
  names: WireNames;
  /** Undoes what the wire's form of the functions' parameters changed. */
  parameters?: { fromWire(functionName: string, text: string): string };
  warnings: string[];
}

/** Builds one turn from a wire's events. Throws `ModelError` if the wire reports an error in mid-stream. */
export interface Accumulator<Event> {
  take(event: Event): readonly ModelDelta[];
  /** Deltas that `take` held back, because they may have been half a tag. */
  held(): readonly ModelDelta[];
  /** The turn, after the wire's terminal event. */
  end(): ModelTurn | undefined;
  /** What the turn has used so far; undefined before the model begins to answer. */
  soFar(): PartialUsage | undefined;
}

/** What a wire's adapter provides for one turn. */
interface WireTurn<Event> {
  accumulator: Accumulator<Event>;
  /**
   * Sends the request; the body has the events. Reading must be able to stop early: that, or an abort, ends the
   * connection.
   */
  open(signal: AbortSignal): Promise<Pick<Response, "body" | "headers">>;
  /** The event that has the same as a whole answer. Default: the answer itself. */
  eventOf?(answer: JsonObject): Event;
}

/** A provider whose turns arrive as server-sent events with JSON. */
export function wireProvider<Event>(name: string, begin: (request: ModelRequest) => WireTurn<Event>): ModelProvider {
  return { name, stream: (request, { signal }) => streamTurn(name, begin(request), signal) };
}

/** Runs one turn over a wire: event order, aborts, truncation and failures are the same for all wires. */
async function* streamTurn<Event>(
  provider: string,
  { accumulator, open, eventOf = (answer) => answer as Event }: WireTurn<Event>,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, void, undefined> {
  signal.throwIfAborted();
  // A separate controller: the run's signal outlives many turns and must not gather their listeners.
  const connection = new AbortController();
  using _ = addAbortListener(signal, () => connection.abort(signal.reason));
  const read = createSseReader();
  /** Bytes before the first event. */
  const unread: Uint8Array[] = [];
  let size = 0;
  let hasEvents = false;
  let isDone = false;
  let deltas: ModelDelta[] = [];
  let ended = false;
  try {
    const { body, headers } = await open(connection.signal);
    if (!body) throw truncated(provider, "no body");
    for await (const bytes of body as AsyncIterable<Uint8Array>) {
      size += bytes.length;
      if (size > MAX_TURN_BYTES)
        throw new ModelError("server", `${provider} sent more than ${MAX_TURN_BYTES} bytes in one turn`);
      const events = read(bytes);
      hasEvents ||= events.length > 0;
      isDone ||= events.includes(DONE);
      if (!hasEvents && unread.push(bytes) > 0 && size > MAX_DATA_UNITS) break;
      for (const data of events) {
        if (data !== DONE) deltas.push(...accumulator.take(parse(provider, data) as Event));
      }
      // Also without deltas: a call's arguments may stream for minutes, and the reader must know that the provider is alive.
      const shown = deltas;
      deltas = [];
      yield { type: "deltas", deltas: shown };
      signal.throwIfAborted();
    }
    // An aborted connection can look like one that ended normally.
    signal.throwIfAborted();
    ended = true;
    const text = hasEvents ? "" : Buffer.concat(unread).toString();
    for (const answer of wholeAnswers(text)) accumulator.take(eventOf(answer));
    const turn = accumulator.end();
    // A comment or an incomplete event is the beginning of a stream.
    const isStream = /^\s*$|^\uFEFF?(data|event|id|retry)?:/.test(text);
    const type = headers.get("content-type") ?? "no content type";
    if (!turn && isDone) throw unknownEnd(provider, `only ${DONE} (${type})`);
    if (!turn) throw isStream ? truncated(provider, type) : noStream(provider, type, text);
    yield { type: "deltas", deltas: accumulator.held() };
    yield { type: "end", turn };
  } catch (error) {
    // These deltas preceded the error in the same bytes.
    if (deltas.length > 0) yield { type: "deltas", deltas };
    const used = accumulator.soFar();
    if (used) yield { type: "cut", ...used };
    if (signal.aborted) throw signal.reason;
    throw requestFailure(provider, error);
  } finally {
    // An abort is expensive, and an ended connection does not need it.
    if (!ended) connection.abort();
  }
}

/** The JSON objects of an answer without events. */
function wholeAnswers(text: string): JsonObject[] {
  const parsed = parseJson(withExactArguments(text));
  return parsed.ok ? [parsed.value].flat().filter(isJsonObject) : [];
}

/** Ends the events on some wires. It is not JSON. */
const DONE = "[DONE]";

function parse(provider: string, data: string): object {
  let value: unknown;
  try {
    value = JSON.parse(withExactArguments(data));
  } catch (cause) {
    throw unreadable(provider, cause);
  }
  if (typeof value !== "object" || value === null) throw unreadable(provider, undefined);
  return value;
}

/** A turn as read, with all its calls. */
type ReadTurn = Omit<ModelTurn, "refusal" | "warnings" | "usage"> & { refusal?: string | undefined };

/** An accumulator whose turn has the meter's usage. `end` returns the turn as read. */
export function metered<Event>(
  { parameters, warnings }: TurnOptions,
  meter: Meter,
  { take, end }: { take(event: Event): ModelDelta | undefined; end(): ReadTurn | undefined },
): Accumulator<Event> {
  const tags = thinkTags();
  return {
    take(event) {
      const delta = take(event);
      return delta?.type === "textDelta" ? tags.take(delta.text) : delta ? [delta] : [];
    },
    held: tags.end,
    soFar: meter.soFar,
    end() {
      const read = end();
      if (!read) return undefined;
      const { textDelta: text, thoughtDelta: thought } = splitThinking(read.text);
      const thoughts = thought === "" ? read.thoughts : [...read.thoughts, thought];
      const calls = read.calls.map((call) =>
        parameters ? { ...call, arguments: parameters.fromWire(call.name, call.arguments) } : call,
      );
      return {
        ...settleTurn({ ...read, calls, text, thoughts }),
        usage: meter.usage,
        ...(warnings.length > 0 && { warnings }),
      };
    },
  };
}

/**
 * Decides which calls may run, by one rule for all wires: only if the wire ended the turn for calls. A turn that was
 * cut, refused or otherwise stopped runs no call, even one that looks complete.
 */
function settleTurn({ stop, calls, refusal, ...rest }: ReadTurn): Omit<ModelTurn, "usage"> {
  const mayRun = stop === "calls";
  return {
    stop: mayRun && calls.length === 0 ? "stop" : stop,
    calls: mayRun ? calls : [],
    ...rest,
    ...(stop === "length" && calls.length > 0 && { cutCall: true }),
    ...(refusal && { refusal }),
  };
}

/** Counts what a turn has used so far, from the wire's counts and its output. */
export function createMeter({ warnings }: Pick<TurnOptions, "warnings">) {
  let usage: TokenUsage = { input: 0, cachedInput: 0, cacheWriteInput: 0, output: 0 };
  let uncountedBytes = 0;
  let lastTokens = 0;
  let begun = false;
  return {
    /** Adds a piece of output. An empty piece means that the model has begun to answer. */
    wrote(text: string | null | undefined): void {
      begun = true;
      uncountedBytes += Buffer.byteLength(text ?? "");
    },
    /** Replaces the counts with the wire's newest. `answerTokens`: the part of the output that `wrote` received. */
    counted(counts: TokenUsage, answerTokens = counts.output): void {
      begun = true;
      usage = counts;
      // Compatible servers send counts of 0 until the end, and some send the first count again.
      if (answerTokens > lastTokens) uncountedBytes = 0;
      lastTokens = answerTokens;
    },
    count: (value: unknown): number => tokenCount(value, warnings),
    get usage() {
      return usage;
    },
    /** Undefined before the model begins to answer. */
    soFar: (): PartialUsage | undefined => (begun ? { counted: usage, uncountedBytes } : undefined),
  };
}
export type Meter = ReturnType<typeof createMeter>;

/** The member for reasoning tokens; none for 0, which also means that the provider does not count them. */
export const reasoningOf = (tokens: number): Pick<TokenUsage, "reasoning"> => (tokens > 0 ? { reasoning: tokens } : {});

/**
 * A provider's token count as a whole number, at least 0. Compatible servers send text, negative numbers and nothing.
 */
function tokenCount(value: unknown, warnings: string[]): number {
  if (value === undefined || value === null) return 0;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  const number = typeof value === "string" || typeof value === "number" ? Math.round(Number(value)) : 0;
  const counted = Number.isSafeInteger(number) && number > 0 ? number : 0;
  const warning = `The provider reported ${JSON.stringify(value)} as a number of tokens, which was counted as ${counted}.`;
  if (!warnings.includes(warning)) warnings.push(warning);
  return counted;
}

/** Longest data in one event, in UTF-16 units: an answer's closing event can repeat the whole answer. */
const MAX_DATA_UNITS = 16 * 1024 * 1024;
/** Most bytes in one turn, which stays in memory until its end: a million tokens with about 300 bytes each, and room. */
const MAX_TURN_BYTES = 512 * 1024 * 1024;

/** Splits bytes into event data, across chunk boundaries. Drops an incomplete event at the end. */
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
