import type { CallOutcome, RunErrorCode, RunStatus } from "@patchbay/protocol";
import { type CallAddress, type CallOrder, RunMoved } from "./function-gateway.ts";
import type { Message } from "./model-provider.ts";
import type { AuditEntry, CallRecord, RunRecord, RunRequest, TurnRecord, TurnTiming } from "./records.ts";

export interface NewRun {
  runId: string;
  orgId: string;
  agentId: string;
  keyId: string;
  /** Of the request that begins it. */
  requestId?: string;
  /** An existing thread of the agent, or a new one to be made. */
  threadId: string;
  newThread: boolean;
  sessionId?: string;
  subject?: string;
  manifestHash?: string;
  request: RunRequest;
  /** Time the run has, waiting included. */
  timeoutMs: number;
  /** Key and hash of the body it came with; unique for 24 h per agent and lineage of `keyId`. */
  idempotency?: { key: string; bodyHash: string };
  /** Stored as queued even where its thread is free: its organisation has as many runs in progress as it may. */
  mustWait?: boolean;
  /** Owner of the lease, where the run may start at once. */
  owner: string;
  leaseMs: number;
  /** Micro-USD to hold for its first turn, where it may start at once and they are there. Default 0. */
  holdMicros?: number;
  audit: AuditEntry[];
}

export type StartedRun =
  /** `running`: leased to `owner` now. `queued`: waits behind others of its thread. `heldMicros`: for its first turn. */
  | { kind: "started"; run: RunRecord; heldMicros: number }
  /** The thread has its full queue already; nothing was stored. */
  | { kind: "busy" }
  /** The thread was erased meanwhile; nothing was stored. */
  | { kind: "thread_gone" }
  /** The Idempotency-Key belongs to this run already; nothing was stored. */
  | { kind: "joined"; runId: string; sameBody: boolean };

export interface StoredEvent {
  /** 1, 2, 3 … without gaps within a run. */
  seq: number;
  /** The event's JSON, exactly as every reader gets it. */
  body: string;
}

/** One step forward of a run. Everything in it is stored, or nothing. */
export interface RunCommit {
  events?: StoredEvent[];
  /** `heldMicros`: what is held for it. */
  turn?: TurnRecord & { heldMicros: number; timing?: TurnTiming };
  /** Inserted, or replaced by callId. */
  calls?: CallRecord[];
  /** Credits to hold for the turn that comes next, where they are there. */
  hold?: { step: number; micros: number };
  /**
   * Ends the run: a terminal event must be among `events`. Open credit holds go back. `unanswered`: the turn that the model was
   * asked for, and gave none.
   */
  finish?: {
    status: RunStatus;
    result: RunRecord["result"];
    history: Message[];
    unanswered?: TurnTiming;
    releaseIdempotencyKey: boolean;
  };
  audit?: AuditEntry[];
}

/** Thrown by a write whose fence is no longer the run's: another process owns it (or the run is gone). */
export class LeaseLost extends RunMoved {
  override readonly name = "LeaseLost";
}

/** Thrown by any method of a store that cannot be reached or cannot write now; worth another try later. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}

export interface Lease {
  runId: string;
  fence: number;
}

/** An earlier run of a thread that the model may be shown. */
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
  /** Bytes of all earlier runs that the thread ever had. What is deleted since then counts too. */
  totalBytes: number;
}

export const NO_HISTORY: History = { entries: [], hasOlder: false, totalBytes: 0 };

/** Where a run's log stands. */
export interface RunHead {
  runId: string;
  lastSeq: number;
  ended: boolean;
}

/** A run that was in progress at so many crashes is a suspect: it is resumed in quarantine, with no other suspect in the same process. */
export const SUSPECT_CRASHES = 2;

/** Who may see a run, and how far it is. */
export type RunFacts = Pick<RunRecord, "runId" | "agentId" | "threadId" | "role" | "status" | "lastSeq" | "finishedAt">;

/** Runs, their logs and what the loop needs to go on after a crash. */
export interface RunStore {
  /** Stores the run with its thread and session in one step. A run on a busy thread is stored as `queued` (4 deep, then `busy`). */
  start(run: NewRun): Promise<StartedRun>;

  /** Stores a run that ended before its first turn: its row, its one `error` event, no Idempotency-Key. A thread erased meanwhile stays erased. */
  refuse(run: NewRun, refusal: { code: RunErrorCode; event: StoredEvent; result: RunRecord["result"] }): Promise<void>;

  /**
   * Takes up to `limit` runs without an owner: queued ones whose thread is free (oldest first within a thread), and running ones
   * that are no suspects. Raises their fence. `orgId` narrows it to one organisation, `threadId` to one thread, `runId` to one run.
   */
  claim(options: {
    owner: string;
    leaseMs: number;
    limit: number;
    orgId?: string;
    threadId?: string;
    runId?: string;
  }): Promise<RunRecord[]>;

  /** Takes one suspect into quarantine: the one with the fewest claims there, the oldest of those. Counts the claim. */
  claimSuspect(options: { owner: string; leaseMs: number }): Promise<RunRecord | undefined>;

  /** Forgets the claims in quarantine of a run that its process has survived. */
  clearSuspect(lease: Lease): Promise<void>;

  /**
   * Queued runs and suspects past their deadline or asked to be cancelled: claims them even though their thread is busy or
   * another suspect is in quarantine, so that they can be ended.
   */
  claimExpired(options: { owner: string; leaseMs: number; limit: number }): Promise<RunRecord[]>;

  /** Organisations that have runs without an owner, suspects aside. */
  waiting(): Promise<string[]>;

  /**
   * Takes the runs from owners that stopped renewing their leases, and counts a crash for each. The runs that `owner` works on
   * stay with it: its clock may have jumped past their leases.
   */
  endLeases(options: { owner: string; working: readonly string[] }): Promise<void>;

  /** Extends the leases of `owner`; returns the runs still held, and which of them were asked to be cancelled. */
  renew(
    owner: string,
    runIds: readonly string[],
    leaseMs: number,
  ): Promise<{ runId: string; cancelRequested: boolean }[]>;

  /** Gives the runs of `owner` up at once, so that another replica (or the next start) claims them. `crashed` counts a crash for each. */
  release(owner: string, runIds: readonly string[], options?: { crashed: boolean }): Promise<void>;

  /** Lets every lease run out now, for a process that knows that it is the only one on this store. */
  releaseAll(): Promise<void>;

  /**
   * Stores one step; storing the same one again changes nothing. Says what it knows to be held by its `hold`; where that is 0,
   * `hold` tells. Throws `LeaseLost` when the fence is old or the run has ended.
   */
  commit(lease: Lease, change: RunCommit): Promise<{ heldMicros: number }>;

  /**
   * Takes `micros` from the organisation's balance for one turn, less what is held for it already, and says what is held then.
   * Undefined when the balance is lower. Throws `LeaseLost` when the run has ended.
   */
  hold(orgId: string, runId: string, step: number, micros: number): Promise<number | undefined>;

  /** Marks the run as to be cancelled; returns its status, undefined when there is no such run of the agent. */
  requestCancel(agentId: string, runId: string): Promise<RunStatus | undefined>;

  get(agentId: string, runId: string): Promise<RunRecord | undefined>;
  /** Reads neither what the run was asked nor what it returned, which may be large. */
  facts(agentId: string, runId: string): Promise<RunFacts | undefined>;
  /** The run that this credential began with an Idempotency-Key, or one of its lineage: those that replace it by rotation. */
  findByIdempotencyKey(
    user: { agentId: string; keyId: string },
    key: string,
  ): Promise<{ runId: string; bodyHash: string } | undefined>;

  /** Stored events with `seq` above `after`, in order, at most `limit`. */
  events(runId: string, after: number, limit: number): Promise<StoredEvent[]>;

  /** Turns and calls of a run, in order: what the loop rebuilds its state from. */
  checkpoint(runId: string): Promise<{ turns: TurnRecord[]; calls: CallRecord[]; lastSeq: number }>;

  /** The same without anything that grows with the run: its turns without messages, its calls as their number. */
  outline(runId: string): Promise<{ turns: TurnRecord[]; calls: number }>;

  /**
   * Ended runs of a thread under the same role and subject (in any of its forms): the newest that fit into `maxBytes`. `before`
   * limits them to those that ran before this run of the thread.
   */
  history(
    threadId: string,
    scope: { role: string | undefined; subject: string | undefined; maxBytes: number; before?: string },
  ): Promise<History>;

  /** Where the logs of these runs stand; one that was erased is left out. */
  heads(runIds: readonly string[]): Promise<RunHead[]>;

  list(agentId: string, options: { limit: number }): Promise<RunRecord[]>;
  /** Ids of runs of a thread that have not ended. */
  active(threadId: string): Promise<string[]>;
}

/** A call as it stands in the store, for the replica that holds its runtime: everything of its order but the time it has. */
export type AcceptedCall = Omit<CallOrder, "timeoutMs">;

/**
 * Calls between the replica that works a run and the one that holds the call's runtime. The row of the call decides between
 * them, since the bus may lose, delay or repeat what it carries.
 */
export interface CallStore {
  /**
   * Takes one attempt for the replica that will send it. Undefined, and nothing changed, where the attempt was taken before or
   * taken back, the run has another fence or has ended, or the call has its outcome.
   */
  accept(call: {
    callId: string;
    attempt: number;
    fence: number;
    replicaId: string;
  }): Promise<AcceptedCall | undefined>;
  /** Takes an attempt back, so that nobody can accept it any more. False when it was accepted before: it may be running. */
  withdraw(call: { callId: string; attempt: number }): Promise<boolean>;
  /**
   * Keeps what a runtime answered to a call that nobody of this process waits for; the first answer stays. Returns the owner of
   * its run where one works on it. `over`: the call has its outcome already, is not one of that runtime, or is not known.
   * `sent`: when the frame of an attempt left, where this process sent it.
   */
  arrive(
    call: CallAddress,
    outcome: CallOutcome,
    sent?: { attempt: number; at: number },
  ): Promise<{ over: boolean; owner?: string }>;
  /** What arrived for these calls and was not yet made their outcome. */
  arrivals(callIds: readonly string[]): Promise<{ callId: string; outcome: CallOutcome }[]>;
}
