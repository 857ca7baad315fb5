import type { RunEntry, RunErrorCode, RunStatus } from "@patchbay/protocol";
import type { VisibleTo } from "../callers.ts";

/** One page of a list. */
export interface Page<Item> {
  items: Item[];
  nextCursor: string | null;
}

/** `cursor`: the `nextCursor` of the page before. */
export interface PageAsked {
  limit: number;
  cursor?: string | undefined;
}

/** Filters a run list. All given properties must match. */
export interface RunsAsked extends PageAsked {
  status?: RunStatus;
  code?: RunErrorCode;
  endedAfterWrites?: boolean;
  sessionId?: string;
  threadId?: string;
}

/** Run lists for clients. */
export interface RunPages {
  /**
   * One page with an agent's runs that the reader may see, newest first. A page reads a limited number of runs, so that
   * it can be short, or even empty, and still have a `nextCursor`. Throws `invalid_request` for an invalid cursor.
   */
  page(agentId: string, asked: RunsAsked & VisibleTo): Promise<Page<RunEntry>>;
}
