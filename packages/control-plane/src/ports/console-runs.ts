import type { RunStatus } from "@patchbay/protocol";
import type {
  ConsoleSession,
  ConsoleThread,
  ConsoleThreadDetail,
  LogEvent,
  RunSource,
  RunSummary,
} from "@patchbay/protocol/console";
import type { CallRecord, RunEnding, RunRecord, TurnRecord, TurnTiming } from "./records.ts";

/** Where a list is read, and how much of it. */
export interface PageAsked {
  limit: number;
  /** Methods throw `invalid_request` for one that no page gave. */
  cursor?: string | undefined;
}

/**
 * Part of a list. A search looks at so many rows at a time: a page may be short, or empty, and yet have a next one, which
 * goes on with older rows.
 */
export interface PageOf<T> {
  items: T[];
  nextCursor: string | null;
}

/** Runs that meet every member given. Times are milliseconds of the database's clock; `from` is in it, `to` is not. */
export interface RunFilter {
  status?: RunStatus | undefined;
  /** An empty one: runs without a role. */
  role?: string | undefined;
  functionName?: string | undefined;
  trouble?: "denied" | "failed" | undefined;
  source?: RunSource | undefined;
  keyId?: string | undefined;
  sessionId?: string | undefined;
  threadId?: string | undefined;
  from?: number | undefined;
  to?: number | undefined;
  /** Looked for in the query's text whatever the case of its letters; `run_…` and `thr_…` are beginnings of ids. */
  q?: string | undefined;
}

export interface TimedTurn extends TurnRecord {
  /** When it was stored, which is when it had ended. */
  endedAt: number;
  /** Absent for a turn stored by a version that did not note it. */
  timing?: TurnTiming;
}

export interface TimedCall extends CallRecord {
  /** When the intent was stored. */
  createdAt: number;
  finishedAt?: number;
}

/** All that is stored of a run but its events, at one moment of the database's clock. */
export interface RunParts {
  now: number;
  run: Omit<RunRecord, "result"> & { result?: RunEnding };
  summary: RunSummary;
  turns: TimedTurn[];
  calls: TimedCall[];
  /** The turn that was asked for when the run ended without it. */
  unanswered?: TurnTiming;
  /** When what was done after each change of its owner was first stored. */
  resumedAt: number[];
}

export interface RunReads {
  /** Newest first. */
  list(orgId: string, agentId: string, asked: RunFilter & PageAsked): Promise<PageOf<RunSummary>>;
  parts(orgId: string, agentId: string, runId: string): Promise<RunParts | undefined>;
  /** Stored events, oldest first, about a megabyte of them at most. Undefined when there is no such run. */
  log(orgId: string, agentId: string, runId: string, asked: PageAsked): Promise<PageOf<LogEvent> | undefined>;
}

export interface ThreadReads {
  /** Latest change first. `q` is looked for in the title, or is an id's beginning. */
  list(
    orgId: string,
    agentId: string,
    asked: { sessionId?: string | undefined; q?: string | undefined } & PageAsked,
  ): Promise<PageOf<ConsoleThread>>;
  /**
   * The newest queries of a thread, in its order; `nextCursor` leads to earlier ones. Undefined when the organisation's agent has
   * no such thread.
   */
  get(orgId: string, agentId: string, threadId: string, asked: PageAsked): Promise<ConsoleThreadDetail | undefined>;
  /** Whether the organisation's agent has such a thread. */
  exists(orgId: string, agentId: string, threadId: string): Promise<boolean>;
}

export interface SessionReads {
  /** Sessions that were there between the two, last seen first. `q` is looked for in the id and in the first query. */
  list(
    orgId: string,
    agentId: string,
    asked: { from: number; to: number; q?: string | undefined } & PageAsked,
  ): Promise<PageOf<ConsoleSession>>;
}
