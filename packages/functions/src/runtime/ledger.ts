/** How long ids of finished and of refused calls are remembered, and how many of each. */
const KEEP_MS = 600_000;
const KEEP_COUNT = 10_000;

/** What a runtime remembers of calls that ended here, and of calls it said it never saw. */
export interface Ledger<Sender> {
  /** Keeps the frame of a result until it is acknowledged. `claim` says what was called by whom. */
  keep(callId: string, result: KeptResult<Sender>, claim: string): void;
  kept(callId: string): KeptResult<Sender> | undefined;
  /** Results nobody has acknowledged, oldest first. */
  unacknowledged(): Iterable<KeptResult<Sender>>;
  readonly unacknowledgedCount: number;
  acknowledge(callId: string): void;
  /** The claim of a call that ran here, also after its result was acknowledged; undefined for any other. */
  finished(callId: string): string | undefined;
  /** Promises that this attempt, and older ones, will never run here. */
  refuse(callId: string, attempt: number): void;
  refuses(callId: string, attempt: number): boolean;
}

export interface KeptResult<Sender> {
  readonly frame: string;
  /** The link it was last given to. */
  sender: Sender | undefined;
}

export function createLedger<Sender>(now: () => number = () => performance.now()): Ledger<Sender> {
  const results = new Map<string, KeptResult<Sender>>();
  const finished = new Map<string, { claim: string; at: number }>();
  const refused = new Map<string, { attempt: number; at: number }>();

  /** Maps keep their order of insertion, so the oldest entries stand first. */
  function forgetOld(): void {
    const horizon = now() - KEEP_MS;
    for (const [callId, { at }] of finished) {
      if (at > horizon && finished.size <= KEEP_COUNT) break;
      finished.delete(callId);
      results.delete(callId);
    }
    for (const [callId, { at }] of refused) {
      if (at > horizon && refused.size <= KEEP_COUNT) break;
      refused.delete(callId);
    }
  }

  return {
    keep(callId, result, claim) {
      finished.set(callId, { claim, at: now() });
      results.set(callId, result);
      refused.delete(callId);
      forgetOld();
    },
    kept: (callId) => results.get(callId),
    unacknowledged: () => results.values(),
    get unacknowledgedCount() {
      return results.size;
    },
    acknowledge: (callId) => void results.delete(callId),
    finished: (callId) => finished.get(callId)?.claim,
    refuse(callId, attempt) {
      const older = refused.get(callId)?.attempt ?? 0;
      refused.delete(callId);
      refused.set(callId, { attempt: Math.max(attempt, older), at: now() });
      forgetOld();
    },
    refuses: (callId, attempt) => attempt <= (refused.get(callId)?.attempt ?? 0),
  };
}
