import { monotonicMs } from "@patchbay/kit/time";
/** How long the ids of acknowledged and refused calls are remembered, and how many in each group. */
const KEEP_MS = 600_000;
const KEEP_COUNT = 10_000;
/** How long a frame about an attempt's age may be on its way. */
const LATE_MS = 60_000;
/** How often old ids are removed, and how many more than necessary when there are too many. */
const SWEEP_MS = 1_000;
const SWEEP_COUNT = 500;

/** A result that the control plane has not acknowledged. */
export interface KeptResult<Sender> {
  readonly frame: string;
  readonly attempt: number;
  /** The connection that sent it last. */
  sender: Sender | undefined;
}

/** Remembers the calls that ended in this runtime, and the attempts promised not to run. */
export function createLedger<Sender, Claim>(now: () => number = monotonicMs) {
  const results = new Map<string, { result: KeptResult<Sender>; claim: Claim }>();
  const acknowledged = new Map<string, { claim: Claim; at: number }>();
  const refused = new Map<string, { attempt: number; at: number }>();
  let nextSweepAt = 0;
  /** The greatest forgotten id, and the newest forgotten acknowledgement. */
  let forgotten = "";
  let forgottenAt = -Infinity;

  /**
   * Maps keep their insertion order, so the oldest entries come first. Removes many entries at a time, and seldom: an
   * iteration from the start of a map passes the entries deleted there before, which made each removal linear.
   */
  function forgetOld(): void {
    const time = now();
    if (time < nextSweepAt && acknowledged.size <= KEEP_COUNT && refused.size <= KEEP_COUNT) return;
    nextSweepAt = time + SWEEP_MS;
    for (const callId of oldOf(acknowledged, time)) {
      forgottenAt = Math.max(forgottenAt, acknowledged.get(callId)!.at);
      acknowledged.delete(callId);
      if (callId > forgotten) forgotten = callId;
    }
    for (const callId of oldOf(refused, time)) refused.delete(callId);
  }

  return {
    /** Keeps a result's frame until it is acknowledged, with no limit, and the claim as long as the id. */
    keep(callId: string, result: KeptResult<Sender>, claim: Claim): void {
      results.set(callId, { result, claim });
      // An earlier attempt may have ended here too. Its place in the map follows its older time.
      acknowledged.delete(callId);
      refused.delete(callId);
      forgetOld();
    },
    kept: (callId: string) => results.get(callId)?.result,
    /** Results without an acknowledgement, oldest first. */
    unacknowledged: () => results.values().map(({ result }) => result),
    get unacknowledgedCount(): number {
      return results.size;
    },
    /** `attempt`: the newest one with a stored result. False if a later attempt's result is kept, which stays. */
    acknowledge(callId: string, attempt = Infinity): boolean {
      const kept = results.get(callId);
      if (!kept) return true;
      if (kept.result.attempt > attempt) return false;
      results.delete(callId);
      acknowledged.set(callId, { claim: kept.claim, at: now() });
      forgetOld();
      return true;
    },
    /** The claim for a call that ended here, acknowledged or not. Undefined for any other call. */
    finished: (callId: string) => (results.get(callId) ?? acknowledged.get(callId))?.claim,
    /**
     * True if the attempt may have run here: this id, or a newer one, was forgotten. Ids begin with their time. `ageMs`:
     * since the attempt could begin, if that is later than its id says.
     */
    mayHaveForgotten: (callId: string, ageMs = Infinity): boolean =>
      callId <= forgotten && !refused.has(callId) && now() - ageMs - LATE_MS <= forgottenAt,
    /** Promises that this attempt, and older ones, will never run here. */
    refuse(callId: string, attempt: number): void {
      const older = refused.get(callId)?.attempt ?? 0;
      refused.delete(callId);
      refused.set(callId, { attempt: Math.max(attempt, older), at: now() });
      forgetOld();
    },
    refuses: (callId: string, attempt: number): boolean => attempt <= (refused.get(callId)?.attempt ?? 0),
  };
}

/** The ids to forget, oldest first. The caller may delete each one as it is yielded. */
function* oldOf(seen: ReadonlyMap<string, { at: number }>, now: number): Generator<string> {
  let excess = seen.size > KEEP_COUNT ? seen.size - KEEP_COUNT + SWEEP_COUNT : 0;
  for (const [callId, { at }] of seen) {
    if (excess-- <= 0 && at > now - KEEP_MS) return;
    yield callId;
  }
}
