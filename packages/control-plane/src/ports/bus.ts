import type { JsonValue } from "@patchbay/protocol";

/** JSON of a body in bytes: above this it goes by the store, and the bus carries its id. */
export const MAX_BODY_BYTES = 262_144;

/** Carries wake-ups and requests between parts of the service and between replicas. Never carries truth: what is missed stands in the store. */
export interface Bus {
  /**
   * Hands `body` to everyone subscribed to `subject` now, the publisher included: here at once, on other replicas as soon as
   * the network brings it. Does not wait for them, never throws; a body that is too large for the bus reaches this process alone.
   */
  publish(subject: string, body: JsonValue): void;
  /** False where surely nobody would be handed what is published on `subject` now: it need not be made. */
  reaches(subject: string): boolean;
  /** Calls `receive` for each body published after this returns, until disposed. */
  subscribe(subject: string, receive: (body: JsonValue) => void): Disposable;
  /**
   * Asks one of those who serve `subject`, this process first, and resolves with its answer. Rejects with `NoResponders` where
   * surely nobody took the request, with `RequestLost` where somebody may have (no answer within `timeoutMs`, or whoever
   * answered failed), and with `signal.reason` when aborted; the other side is not told.
   */
  request(subject: string, body: JsonValue, options: { timeoutMs: number; signal?: AbortSignal }): Promise<JsonValue>;
  /** Answers requests until disposed; answers under way still go out. An `answer` that rejects is lost to who asked. */
  serve(subject: string, answer: (body: JsonValue) => Promise<JsonValue>): Disposable;
  /** True while bodies reach other replicas; a bus that has none to reach is always healthy. */
  readonly healthy: boolean;
  /** True once it was healthy for the first time. */
  readonly reached: boolean;
  close(): Promise<void>;
}

/** Thrown by a request that surely nobody took: nobody serves its subject, or this process is cut off and sent nothing. */
export class NoResponders extends Error {
  override readonly name = "NoResponders";
}

/** Thrown by a request that may have been taken. */
export class RequestLost extends Error {
  override readonly name = "RequestLost";
}
