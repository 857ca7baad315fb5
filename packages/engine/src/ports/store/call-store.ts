import type { JsonValue } from "@patchbay/kit";
import type { CallOutcome, ErrorReport, StoredCall } from "@patchbay/protocol";
import type { CallAddress, CallOrder } from "../function-gateway.ts";
import type { Page, PageAsked } from "./page.ts";

/** A stored call for the replica with its runtime's connection: its order without the timeout. */
export type AcceptedCall = Omit<CallOrder, "timeoutMs" | "callerToken">;

/** `attempt`: the one that a provisional outcome ends. */
export interface ArrivedOutcome {
  callId: string;
  outcome: CallOutcome;
  attempt?: number;
}

/**
 * Coordinates calls between the replica that works on a run and the one with the runtime's connection. The call's row
 * in the database decides between them, because the bus may lose, delay or repeat messages.
 */
export interface CallStore {
  /**
   * Accepts one attempt for the replica that will send it. Undefined, and nothing changed, when the attempt was
   * accepted or withdrawn before, the run has another fence or has ended, or the call has its outcome.
   */
  accept(call: {
    callId: string;
    attempt: number;
    fence: number;
    replicaId: string;
  }): Promise<AcceptedCall | undefined>;
  /** Withdraws an attempt, so that no replica can accept it. False when it was accepted before: its handler may be running. */
  withdraw(call: { callId: string; attempt: number }): Promise<boolean>;
  /**
   * Stores the outcome for a call that this process does not wait for; the first outcome stays, a provisional one until
   * the next attempt. Returns the run's owner, if any. `over`: the call has its outcome, belongs to another runtime, or
   * is unknown, or this is an earlier attempt's provisional outcome. `due`: the run waited for it, and continues.
   * `sentAt`: when this process sent the attempt's frame.
   */
  arrive(
    call: CallAddress & { attempt: number },
    outcome: CallOutcome,
    sentAt?: number,
  ): Promise<{ over: boolean; owner?: string; due?: true }>;
  /** Stores a detached call's newest progress, if there is any. Returns its run; undefined if the call is over. */
  progressed(call: CallAddress, progress?: JsonValue): Promise<string | undefined>;
  /**
   * Stores what the owner's code threw in an open call, apart from its outcome: only members see it. Ignores a call on
   * another runtime.
   */
  recordError(call: CallAddress, error: ErrorReport): Promise<void>;
  /** Arrived outcomes that are not yet stored with these calls. */
  arrivals(callIds: readonly string[]): Promise<ArrivedOutcome[]>;
}

/** Reads ended calls to compare them with another function set. */
/** A call in the list of ended ones. `cursor` continues after it. */
export type ListedCall = StoredCall & { finishedAt: number; cursor: string };

export interface StoredCalls {
  /** One page with an agent's ended calls since a time, newest first. */
  newest(agentId: string, page: PageAsked & { since?: number }): Promise<Page<ListedCall>>;
}
