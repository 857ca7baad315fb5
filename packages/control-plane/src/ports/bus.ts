import type { JsonValue } from "@patchbay/protocol";

/** Carries wake-ups between parts of the service and between replicas. Never carries truth: what is missed stands in the store. */
export interface Bus {
  /** Hands `body` to everyone subscribed to `subject` now, the publisher included. Does not wait for them, never throws. */
  publish(subject: string, body: JsonValue): void;
  /** Calls `receive` for each body published after this returns, until disposed. */
  subscribe(subject: string, receive: (body: JsonValue) => void): Disposable;
  /** True while bodies reach other replicas. */
  readonly healthy: boolean;
  close(): Promise<void>;
}
