import type { JsonObject, JsonValue } from "@patchbay/protocol";
import type { Log } from "./log.ts";

/** One call of one function, as a runtime hands it to {@link Service.invoke}. */
export interface Invocation {
  functionName: string;
  arguments: JsonValue;
  /** The role of the query; the service's default role stands in where there is none. */
  role?: string;
  context: JsonObject;
  threadId: string;
  sessionId?: string;
  runId: string;
  callId: string;
  /** 1 for the first delivery; above that only for idempotent functions. */
  attempt: number;
  /** Time left to the caller. The function's own limit applies too: the smaller of both. */
  timeoutMs: number;
}

/** What goes with one call and is no part of it. */
export interface InvokeOptions {
  /** Ends the call: a reason named `TimeoutError` as `timed_out`, any other as `cancelled`. */
  signal: AbortSignal;
  /** Receives what the handler reports while it runs; nothing after the outcome. */
  onProgress?: (data: JsonValue) => void;
  /** Receives the arguments as the handler gets them, just before it runs, where they are not those that were sent. */
  onReached?: (input: JsonValue) => void;
  /** Called when the call has ended while its handler still runs; `handler` resolves when the handler has returned. Never rejects. */
  onOverrun?: (handler: Promise<void>) => void;
  log: Log;
}

/** What a handler knows of the call it answers. */
export interface CallContext<Context = JsonObject> {
  /** The role of the query, or the service's default role; undefined when there is neither. */
  readonly role: string | undefined;
  readonly context: Context;
  readonly threadId: string;
  readonly sessionId: string | undefined;
  readonly runId: string;
  /** The same for every delivery of one call: the key for the owner's own deduplication. */
  readonly callId: string;
  readonly attempt: number;
  /** Aborted when the call is cancelled or out of time; whatever the handler returns after that is dropped. */
  readonly signal: AbortSignal;
  /** Shows `data` to readers of the stream that asked for live events. Never kept; dropped when it is no JSON or above 32 KiB. */
  progress(data: unknown): void;
  /** Carries the function's name, run and call in every line. */
  readonly log: Log;
}
