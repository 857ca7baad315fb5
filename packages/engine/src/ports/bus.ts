import type { JsonValue } from "@patchbay/kit";

/** Largest body as JSON, in bytes. Store larger bodies, and send their ids. */
export const MAX_BODY_BYTES = 262_144;

/** Published when a waiting run may be due; its bodies are ids. */
export const DUE = "decided";

/** A run's live events. A separate subject: most followers want none, and they are then neither encoded nor sent. */
export const liveSubjectOf = (runId: string): string => `live.${runId}`;

/**
 * Carries notifications and requests within a process and between replicas. Messages may be lost, so no state depends
 * on them: the store has what a replica missed.
 */
export interface Bus {
  /**
   * Delivers `body` to every subscriber: in this process before it returns, the publisher included; on other replicas
   * as soon as the network delivers it. Does not wait for receivers and does not throw on delivery failures. A body
   * over `MAX_BODY_BYTES` reaches this process only.
   */
  publish(subject: string, body: JsonValue): void;
  /** False when no subscriber could receive a body now, so that the caller need not build one. */
  reaches(subject: string): boolean;
  /** Calls `receive` for each body published after this returns, until disposed. */
  subscribe(subject: string, receive: (body: JsonValue) => void): Disposable;
  /**
   * Sends a request to one server, in this process if there is one, and resolves with its answer. Rejects with
   * `NoResponders` when no server received the request, with `RequestLost` when one may have (it failed, or did not
   * answer within `timeoutMs`), and with `signal.reason` on abort, which the server does not notice.
   */
  request(subject: string, body: JsonValue, options: { timeoutMs: number; signal?: AbortSignal }): Promise<JsonValue>;
  /**
   * Answers requests until disposed; answers in progress are still sent. When `answer` rejects, the requester gets
   * `RequestLost`.
   */
  serve(subject: string, answer: (body: JsonValue) => Promise<JsonValue>): Disposable;
  /** True while bodies reach other replicas; always true for a single-process bus. */
  readonly healthy: boolean;
  /** True once the bus has been healthy. */
  readonly reached: boolean;
  close(): Promise<void>;
}

/**
 * Rejects a request that no server received: the subject has no server, or this process is disconnected and sent
 * nothing.
 */
export class NoResponders extends Error {
  override readonly name = "NoResponders";
}

/** Rejects a request that a server may have received. */
export class RequestLost extends Error {
  override readonly name = "RequestLost";
}
