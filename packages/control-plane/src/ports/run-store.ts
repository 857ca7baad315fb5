import { present, type RunErrorCode, type RunStatus } from "@patchbay/protocol";
import { RunMoved } from "./function-gateway.ts";
import type { Message } from "./model-provider.ts";
import type { NewApproval } from "./approvals.ts";
import type { RunNotes } from "./run-notes.ts";
import type { NewDelivery } from "./webhooks.ts";
import type { AuditEntry, CallRecord, RunRecord, ThreadKey, TurnRecord, TurnTiming } from "./records.ts";

/** A run to be stored. */
export interface NewRun extends Pick<
  RunRecord,
  | "runId"
  | "orgId"
  | "agentId"
  | "keyId"
  | "requestId"
  | "trace"
  | "sessionId"
  | "subject"
  | "manifestHash"
  | "kind"
  | "request"
> {
  /** An existing thread of the agent, or with `newThread` the id of a new one. */
  threadId: string;
  newThread: boolean;
  /** The key of a new thread. */
  threadKey?: ThreadKey;
  /** Time until the run's deadline, waiting included. */
  timeoutMs: number;
  /** Idempotency-Key and hash of the request body. Unique for 24 h per agent and lineage of `keyId`. */
  idempotency?: { key: string; bodyHash: string };
  /** Stores the run as queued although its thread is free, because its organisation has reached its limit of running runs. */
  mustWait?: boolean;
  /** Owner of the lease, when the run may start immediately. */
  owner: string;
  leaseMs: number;
  /** Micro-USD to reserve for its first turn, when it may start immediately and the balance suffices. Default 0. */
  reserveMicros?: number;
  audit: AuditEntry[];
}

/** The record of a run on which no work was done. `made`: what the store adds. */
export function recordOf(
  run: NewRun,
  made: Pick<RunRecord, "status" | "fence" | "createdAt" | "deadlineAt"> & { startedAt?: number | undefined },
): RunRecord {
  const { runId, orgId, agentId, threadId, keyId, kind, request, sessionId, requestId, subject, manifestHash, trace } =
    run;
  const { status, fence, createdAt, deadlineAt, startedAt } = made;
  return {
    runId,
    orgId,
    agentId,
    threadId,
    keyId,
    kind,
    status,
    fence,
    request,
    createdAt,
    deadlineAt,
    cancelRequested: false,
    claims: 0,
    crashes: 0,
    lastSeq: 0,
    ...present({ sessionId, requestId, role: request.role, subject, manifestHash, startedAt, trace }),
  };
}

/** The result of storing a run. */
export type StartedRun =
  /** `running`: leased to `owner`. `queued`: waits behind others of its thread. `reservedMicros`: for its first turn. */
  | { kind: "started"; run: RunRecord; reservedMicros: number }
  /** The queue of the thread is full, or its run `waits` for an approval; nothing was stored. */
  | { kind: "busy"; waits?: true }
  /** The thread was erased meanwhile, or another run has made the thread of the key; nothing was stored. */
  | { kind: "thread_gone" }
  /** The Idempotency-Key belongs to this run; nothing was stored. */
  | { kind: "joined"; runId: string; sameBody: boolean };

/** An event of a run's log. */
export interface StoredEvent {
  /** 1, 2, 3 … without gaps within a run. */
  seq: number;
  /** The event's JSON, exactly as every reader gets it. */
  body: string;
}

/** True for the JSON of the event that ends a run's log with an answer: `type` is the first property that the journal writes. */
export const succeeds = (body: string): boolean => body.startsWith('{"type":"finalResponse"');

/** True for the JSON of an event that ends a run's log. */
export const ends = (body: string): boolean => succeeds(body) || body.startsWith('{"type":"error"');

/** One step forward of a run. Everything in it is stored, or nothing. */
export interface RunCommit {
  events?: StoredEvent[];
  /** `reservedMicros`: the credit reserved for it; the part that it did not cost is returned. */
  turn?: TurnRecord & { reservedMicros: number; timing?: TurnTiming };
  /** Inserted, or replaced when the `callId` exists. */
  calls?: CallRecord[];
  /**
   * Requests for approvals to store, and ids of approvals whose decision this step reports. With a report, the Idempotency-Key of
   * the run is valid for 24 h from its deadline; while the run waits, it does not expire.
   */
  approvals?: { requested?: NewApproval[]; reported?: string[] };
  /** Ends the lease until the pending approvals are decided or one expires. `remainingMs`: until the deadline, counted from then. */
  wait?: { remainingMs: number };
  /** Credit to reserve for the next turn, if the balance suffices. */
  reserve?: { step: number; micros: number };
  /**
   * Ends the run: `events` must contain its last event. Open reservations are returned. `unanswered`: the turn that the model was
   * asked for and did not give. `report`: for the webhook of the agent, if it has one.
   */
  finish?: {
    status: RunStatus;
    result: RunRecord["result"];
    history: Message[];
    unanswered?: TurnTiming;
    releaseIdempotencyKey: boolean;
    report?: NewDelivery;
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

/** An earlier run of a thread. */
export interface HistoryEntry {
  runId: string;
  messages: Message[];
  /** Size of the stored messages. */
  bytes: number;
}

/** The newest earlier runs of a thread, oldest first. */
export interface History {
  entries: HistoryEntry[];
  /** True when the thread has older runs than these. */
  hasOlder: boolean;
  /** Bytes of all earlier runs of the thread, deleted ones included. */
  totalBytes: number;
}

export const NO_HISTORY: History = { entries: [], hasOlder: false, totalBytes: 0 };

/** The state of a run's log. */
export interface RunHead {
  runId: string;
  lastSeq: number;
  /** True while the run waits for an approval. */
  waits: boolean;
  ended: boolean;
}

/** A run that was in progress at this many crashes is a suspect: it is resumed in quarantine, without other suspects in the process. */
export const SUSPECT_CRASHES = 2;

/** What decides who may see a run, and its progress. */
export type RunFacts = Pick<RunRecord, "runId" | "agentId" | "threadId" | "role" | "status" | "lastSeq" | "finishedAt">;
type Refusal = { code: RunErrorCode; event: StoredEvent } & Pick<NonNullable<RunCommit["finish"]>, "result" | "report">;

export interface RunStore extends RunNotes {
  /** Stores the run with its thread and session in one transaction. A run on a busy thread is stored as `queued`; at most 4 wait. */
  start(run: NewRun): Promise<StartedRun>;

  /** Stores a run that failed before it began: its row and its only event, without Idempotency-Key. A thread erased meanwhile stays erased. */
  refuse(run: NewRun, refusal: Refusal): Promise<void>;

  /**
   * Claims up to `limit` runs without an owner: queued ones whose thread is free (oldest first within a thread), and running ones
   * that are not suspects. Raises their fence. `orgId`, `threadId` and `runId` limit the claim to an organisation, thread or run.
   */
  claim(options: {
    owner: string;
    leaseMs: number;
    limit: number;
    orgId?: string;
    threadId?: string;
    runId?: string;
  }): Promise<RunRecord[]>;

  /** Claims one suspect: the one with the fewest claims in quarantine, of those the oldest. Counts the claim. */
  claimSuspect(options: { owner: string; leaseMs: number }): Promise<RunRecord | undefined>;

  /** Resets the quarantine claims of a run that its process has survived. */
  clearSuspect(lease: Lease): Promise<void>;

  /**
   * Claims runs without an owner that are cancelled or past their deadline, so that they can be ended: even when their thread is
   * busy or another suspect is in quarantine.
   */
  claimExpired(options: { owner: string; leaseMs: number; limit: number }): Promise<RunRecord[]>;

  /**
   * Lets waiting runs that are due continue: they become running ones without an owner, and their deadline counts from now. Returns
   * their organisations. `all`: also those that are not due.
   */
  wake(options?: { all: boolean }): Promise<string[]>;

  /** Organisations with runs without an owner, not counting suspects and waiting runs. */
  waiting(): Promise<string[]>;

  /**
   * Ends expired leases, and counts a crash for each of their runs. Leases of the runs that `owner` works on stay: its clock may have
   * jumped past their expiry.
   */
  endLeases(options: { owner: string; working: readonly string[] }): Promise<void>;

  /** Extends the leases of `owner`. Returns the runs that it still owns, and which of them are to be cancelled. */
  renew(
    owner: string,
    runIds: readonly string[],
    leaseMs: number,
  ): Promise<{ runId: string; cancelRequested: boolean }[]>;

  /** Ends the leases of `owner`, so that any replica can claim the runs immediately. `crashed` counts a crash for each. */
  release(owner: string, runIds: readonly string[], options?: { crashed: boolean }): Promise<void>;

  /** Ends every lease. Only for a process that is the only one on this store. */
  releaseAll(): Promise<void>;

  /**
   * Stores one step. Storing the same step again changes nothing. Returns the credit that it knows to be reserved by the step's
   * `reserve`; 0 may also mean that it does not know. Throws `LeaseLost` when the fence is old or the run has ended.
   */
  commit(lease: Lease, change: RunCommit): Promise<{ reservedMicros: number }>;

  /**
   * Reserves `micros` of the organisation's balance for one turn, less what is reserved for it already, and returns the amount that
   * is reserved then. Undefined when the balance is too low. Throws `LeaseLost` when the run has ended.
   */
  reserve(orgId: string, runId: string, step: number, micros: number): Promise<number | undefined>;

  /** Marks the run as to be cancelled; returns its status. A waiting run continues, so that it can be ended. Undefined when the agent has no such run. */
  requestCancel(agentId: string, runId: string): Promise<RunStatus | undefined>;

  get(agentId: string, runId: string): Promise<RunRecord | undefined>;
  /** Like `get`, without the request and the result, which may be large. */
  facts(agentId: string, runId: string): Promise<RunFacts | undefined>;
  /** The run that this credential, or another one of its rotation lineage, began with an Idempotency-Key. */
  findByIdempotencyKey(
    user: { agentId: string; keyId: string },
    key: string,
  ): Promise<{ runId: string; bodyHash: string } | undefined>;

  /** Stored events with `seq` above `after`, in order, at most `limit`. */
  events(runId: string, after: number, limit: number): Promise<StoredEvent[]>;

  /** Turns and calls of a run, in order: the loop rebuilds its state from them. */
  checkpoint(runId: string): Promise<{ turns: TurnRecord[]; calls: CallRecord[]; lastSeq: number }>;

  /** Like `checkpoint`, without what grows with the run: its turns without messages, its calls as a number. */
  outline(runId: string): Promise<{ turns: TurnRecord[]; calls: number }>;

  /**
   * Ended runs of a thread under the same role and subject (in any of its forms): the newest that fit into `maxBytes`. `before`
   * limits them to those that ran before this run of the thread.
   */
  history(
    threadId: string,
    scope: { role: string | undefined; subject: string | undefined; maxBytes: number; before?: string },
  ): Promise<History>;

  /** The state of the logs of these runs, without erased runs. */
  heads(runIds: readonly string[]): Promise<RunHead[]>;

  /** The newest runs of an agent, newest first. */
  list(agentId: string, options: { limit: number }): Promise<RunRecord[]>;
  /** The newest runs that requests with this id started, of one agent or of all, newest first. */
  ofRequest(requestId: string, options: { limit: number; agentId?: string }): Promise<RunRecord[]>;
  /** How many runs of all organisations have not ended, by state. */
  openCounts(): Promise<Record<"queued" | "running" | "waiting", number>>;
  /** Ids of runs of a thread that have not ended. */
  active(threadId: string): Promise<string[]>;
}
