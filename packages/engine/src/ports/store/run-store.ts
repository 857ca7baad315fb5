import { present } from "@patchbay/kit";
import { type RunErrorCode, type RunStatus } from "@patchbay/protocol";
import { RunMoved } from "../function-gateway.ts";
import type { Message } from "../model-provider.ts";
import type { NewApproval } from "./approvals.ts";
import type { QuarantineStore } from "../quarantine.ts";
import type { RetryStore, RunNotes } from "./run-notes.ts";
import type { WrittenValues } from "./written-values.ts";
import type { RunPages } from "./page.ts";
import type { NewDelivery } from "./webhooks.ts";
import {
  ACCEPTED,
  type AcceptedRun,
  type AuditEntry,
  type CallRecord,
  type RunFacts,
  type RunRecord,
  type ThreadKey,
  type TurnRecord,
  type TurnTiming,
} from "../records.ts";

/** A new run. */
export interface NewRun extends Omit<AcceptedRun, "role"> {
  /** An existing thread's id, or with `newThread` a new one's. */
  threadId: string;
  newThread: boolean;
  /** The new thread's key. */
  threadKey?: ThreadKey;
  /** Time until the run's deadline, waiting included. */
  timeoutMs: number;
  /** Idempotency-Key and request body hash. Unique for 24 h per agent and `keyId` lineage. */
  idempotency?: { key: string; bodyHash: string };
  /**
   * Stores the run as queued although its thread is free, because its organisation has reached its limit for running
   * runs.
   */
  mustWait?: boolean;
  /** The thread's newest run, which has failed: the run continues its log and its open calls. */
  retries?: string;
  /** The lease's owner, when the run may start immediately. */
  owner: string;
  leaseMs: number;
  /** Micro-USD to reserve for its first turn, when it may start immediately and the balance suffices. Default 0. */
  reserveMicros?: number;
  audit: AuditEntry[];
}

/** The record for a run without any work. `made`: what the store adds. */
export function recordOf(
  run: NewRun,
  made: Pick<RunRecord, "status" | "fence" | "createdAt" | "deadlineAt"> & { startedAt?: number | undefined },
): RunRecord {
  const { startedAt, ...state } = made;
  const accepted = { ...run, ...present({ role: run.request.role }) };
  const members = ACCEPTED.map((member) => [member, accepted[member]]).filter(([, value]) => value !== undefined);
  return {
    ...(Object.fromEntries(members) as AcceptedRun),
    ...state,
    ...present({ startedAt }),
    cancelRequested: false,
    claims: 0,
    crashes: 0,
    lastSeq: 0,
  };
}

/** The result when a run is stored. */
export type StartedRun =
  /**
   * `running`: leased to `owner`. `queued`: waits behind others in its thread. `reservedMicros`: for its first turn.
   */
  | { kind: "started"; run: RunRecord; reservedMicros: number }
  /** The thread's queue is full, or its run `waits`; nothing was stored. */
  | { kind: "busy"; waits?: true }
  /** A newer run has followed the one to retry in its thread; nothing was stored. */
  | { kind: "outdated" }
  /** The thread was erased meanwhile, or another run has made the key's thread; nothing was stored. */
  | { kind: "thread_gone" }
  /** The Idempotency-Key belongs to this run; nothing was stored. */
  | { kind: "joined"; runId: string; sameBody: boolean };

/** An event in a run's log. */
export interface StoredEvent {
  /** 1, 2, 3 … without gaps within a run. */
  seq: number;
  /** The event's JSON, exactly as every reader gets it. */
  body: string;
}

/** True for the JSON event that ends a log with an answer: the journal writes `type` first. */
export const succeeds = (body: string): boolean => body.startsWith('{"type":"finalResponse"');

/** True for a JSON event that ends a run's log. */
export const ends = (body: string): boolean => succeeds(body) || body.startsWith('{"type":"error"');

/** One step of a run. Either everything in it is stored, or nothing. */
export interface RunCommit {
  events?: StoredEvent[];
  /** `reservedMicros`: the credit reserved for it; the unused part is returned. */
  turn?: TurnRecord & { reservedMicros: number; timing?: TurnTiming };
  /** Inserted, or replaced when the `callId` exists. */
  calls?: CallRecord[];
  /**
   * New approval requests, and ids of approvals whose decision this step reports. With a report, the run's
   * Idempotency-Key is valid for 24 h from its deadline; while the run waits, it does not expire.
   */
  approvals?: { requested?: NewApproval[]; reported?: string[] };
  /**
   * Ends the lease until all approvals are decided or one expires, or a detached call's result arrives or its time is
   * over. `remainingMs`: from then until the deadline. `heldBy`: as in `AccountStore.mayContinue`.
   */
  wait?: { remainingMs: number; heldBy?: readonly string[] | undefined };
  /** Credit to reserve for the next turn, if the balance suffices. */
  reserve?: { step: number; micros: number };
  /**
   * Ends the run: `events` must contain its last event. Open reservations are returned. `unanswered`: the requested
   * turn that the model did not give. `report`: for the agent's webhook, if it has one.
   */
  finish?: {
    status: RunStatus;
    result: RunRecord["result"];
    history: Message[];
    unanswered?: TurnTiming;
    releaseIdempotencyKey: boolean;
    report?: NewDelivery;
    /** Runs whose history this one contains, so that later runs do not get it twice. */
    replaces?: readonly string[];
  };
  audit?: AuditEntry[];
}

/** Thrown by a write with an old fence: another process owns the run, or the run was erased. */
export class LeaseLost extends RunMoved {
  override readonly name = "LeaseLost";
}

/** Thrown by any method while the store cannot be reached or cannot write. A retry may succeed. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}

/** The right to write to a run: valid while `fence` is the newest one. */
export interface Lease {
  runId: string;
  fence: number;
}

/** An earlier run in a thread. */
export interface HistoryEntry {
  runId: string;
  messages: Message[];
  /** The stored messages' size. */
  bytes: number;
}

/** A thread's newest earlier runs, oldest first. */
export interface History {
  entries: HistoryEntry[];
  /** True when the thread has older runs than these. */
  hasOlder: boolean;
  /** Total bytes in all earlier runs of the thread, deleted ones included. */
  totalBytes: number;
}

export const NO_HISTORY: History = { entries: [], hasOlder: false, totalBytes: 0 };

/** A log's state. */
export interface RunHead {
  runId: string;
  lastSeq: number;
  /** What the run waits for while it waits. */
  waitsFor?: "approval" | "function";
  ended: boolean;
}

type OwnedLease = Pick<NewRun, "owner" | "leaseMs">;
type Refusal = { code: RunErrorCode; event: StoredEvent } & Pick<NonNullable<RunCommit["finish"]>, "result" | "report">;

export interface RunStore extends RunNotes, RunPages, RetryStore, QuarantineStore, WrittenValues {
  /** Stores the run with its thread and session in one transaction. A run on a busy thread is stored as `queued`; at most 4 wait. */
  start(run: NewRun): Promise<StartedRun>;

  /**
   * Stores a run that failed before it began: its row and only event, without Idempotency-Key. Erased threads stay so.
   */
  refuse(run: NewRun, refusal: Refusal): Promise<void>;

  /**
   * Claims up to `limit` runs without an owner: queued ones whose thread is free (oldest first within a thread), and running ones
   * that are not suspects. Raises their fence. `orgId`, `threadId` and `runId` limit the claim to an organisation, thread or run.
   */
  claim(
    options: OwnedLease & { limit: number; orgId?: string; threadId?: string; runId?: string },
  ): Promise<RunRecord[]>;

  /**
   * Claims runs without an owner that are cancelled, past their deadline, or not resumed again, to end them: even when
   * their thread is busy or other suspects are in quarantine. The deadline does not pass for a suspect without an
   * owner.
   */
  claimExpired(options: OwnedLease & { limit: number }): Promise<RunRecord[]>;

  /**
   * Makes due waiting runs continue: their status becomes running, without an owner, and their deadline counts from
   * now. Returns their organisations. `all`: also those that are not due.
   */
  wake(options?: { all: boolean }): Promise<string[]>;

  /** Makes waiting runs due whose detached calls were in a runtime that is gone. */
  wakeLost(): Promise<void>;

  /** Organisations with runs without an owner, not counting suspects and waiting runs. */
  waiting(): Promise<string[]>;

  /**
   * Ends expired leases, and counts a crash for each run, except for suspects in quarantine together. Keeps the leases
   * for the runs in `working`: the owner's clock may have jumped past their expiry.
   */
  endLeases(options: { owner: string; working: readonly string[] }): Promise<void>;

  /**
   * Extends the owner's leases, and forgives its runs a crash for each hour without one. Returns the runs that it still
   * owns, and those to cancel.
   */
  renew(
    owner: string,
    runIds: readonly string[],
    leaseMs: number,
  ): Promise<{ runId: string; cancelRequested: boolean }[]>;

  /**
   * Ends the owner's leases, so that any replica can claim the runs immediately. `crashed` counts a crash for each.
   * `fence`: only the lease with this fence.
   */
  release(owner: string, runIds: readonly string[], options?: { crashed?: boolean; fence?: number }): Promise<void>;

  /** Ends every lease. Only for a process that has this store to itself. */
  releaseAll(): Promise<void>;

  /**
   * Stores one step; storing it again changes nothing. Returns the credit that it knows to be reserved by the step's
   * `reserve`; 0 may also mean that it does not know. Throws `LeaseLost` when the fence is old or the run has ended.
   */
  commit(lease: Lease, change: RunCommit): Promise<{ reservedMicros: number }>;

  /**
   * Reserves `micros` from the organisation's balance for one turn, less the turn's existing reservation, and returns
   * the total then reserved. Undefined when the balance is too low. Throws `LeaseLost` when the run has ended.
   */
  reserve(orgId: string, runId: string, step: number, micros: number): Promise<number | undefined>;

  /** Marks the run as to be cancelled; returns its status. A waiting run continues, so that it can be ended. Undefined when the agent has no such run. */
  requestCancel(agentId: string, runId: string): Promise<RunStatus | undefined>;

  get(agentId: string, runId: string): Promise<RunRecord | undefined>;
  /** Like `get`, without the request and the result, which may be large. */
  facts(agentId: string, runId: string): Promise<RunFacts | undefined>;
  /** The run that this credential, or another one in its rotation lineage, began with an Idempotency-Key. */
  findByIdempotencyKey(
    user: { agentId: string; keyId: string },
    key: string,
  ): Promise<{ runId: string; bodyHash: string } | undefined>;

  /** Stored events with `seq` above `after`, in order, at most `limit`. */
  events(runId: string, after: number, limit: number): Promise<StoredEvent[]>;

  /** A run's turns and calls, in order: the loop rebuilds its state from them. */
  checkpoint(runId: string): Promise<{ turns: TurnRecord[]; calls: CallRecord[]; lastSeq: number }>;

  /** Like `checkpoint`, without what grows with the run: its turns without messages, its calls as a number. */
  outline(runId: string): Promise<{ turns: TurnRecord[]; calls: number }>;

  /**
   * Ended runs in a thread under the same role and subject (in any of its forms): the newest that fit into `maxBytes`.
   * `before` limits them to those that ran before this run in the thread.
   */
  history(
    threadId: string,
    scope: { role: string | undefined; subject: string | undefined; maxBytes: number; before?: string },
  ): Promise<History>;

  /** These runs' log states, without erased runs. */
  heads(runIds: readonly string[]): Promise<RunHead[]>;

  /** An agent's newest runs, newest first. */
  list(agentId: string, options: { limit: number }): Promise<RunRecord[]>;
  /** The newest runs that requests with this id started, for one agent or all, newest first. */
  ofRequest(requestId: string, options: { limit: number; agentId?: string }): Promise<RunRecord[]>;
  /** Counts open runs in all organisations, by state. Those in quarantine also count as running. */
  openCounts(): Promise<Record<"queued" | "running" | "waiting" | "quarantined", number>>;
  /** Ids of a thread's open runs. */
  active(threadId: string): Promise<string[]>;
}
