/**
 * One start of a call to a function with `concurrency`. `start`: 1 for the first start of its handler. An offer that no
 * runtime accepts does not count.
 */
export interface PermitId {
  agentId: string;
  functionName: string;
  callId: string;
  start: number;
}

/**
 * The right to run the handler of a function that limits how many run at the same time. All times use the database's
 * clock.
 */
export interface PermitStore {
  /**
   * Enters the function's queue, or stays in it for `waitMs` more. True once the call has the permit, for `holdMs`:
   * when fewer than `limit` others have one or came earlier. A repeated call extends the permit. The permits of `held`
   * calls do not end: their process lives, and the clock may have jumped.
   */
  acquire(
    permit: PermitId & { orgId: string },
    options: { limit: number; holdMs: number; waitMs: number; held?: readonly string[] },
  ): Promise<boolean>;
  /** Extends the permit. It ends by itself after `holdMs`, because its process may have died. */
  hold(permit: PermitId, holdMs: number): Promise<void>;
  /** Ends the permit, or leaves the queue. */
  release(permit: PermitId): Promise<void>;
}
