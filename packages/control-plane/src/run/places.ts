/** How many runs of each organisation this process works on, and which organisations have more waiting. */
export interface Places {
  /** Takes a place for a new run. False where the organisation has none left, or has runs that wait: the run then waits too. */
  take(orgId: string): boolean;
  /** Takes up to `limit` free places for runs that waited; says how many. */
  reserve(orgId: string, limit: number): number;
  /** Takes a place whether or not one is free: for a run that only has to be ended. */
  force(orgId: string): void;
  leave(orgId: string, count?: number): void;
  /** Notes whether runs of the organisation wait for a place. */
  note(orgId: string, waits: boolean): void;
  waits(orgId: string): boolean;
}

export function createPlaces(most: number): Places {
  const taken = new Map<string, number>();
  const waiting = new Set<string>();
  const add = (orgId: string, count: number): void => {
    const now = (taken.get(orgId) ?? 0) + count;
    if (now > 0) taken.set(orgId, now);
    else taken.delete(orgId);
  };
  function reserve(orgId: string, limit: number): number {
    const count = Math.min(limit, Math.max(0, most - (taken.get(orgId) ?? 0)));
    add(orgId, count);
    return count;
  }
  return {
    take(orgId) {
      // A place may be free while the runs that wait for it are being claimed.
      if (!waiting.has(orgId) && reserve(orgId, 1) > 0) return true;
      waiting.add(orgId);
      return false;
    },
    reserve,
    force: (orgId) => add(orgId, 1),
    leave: (orgId, count = 1) => add(orgId, -count),
    note(orgId, waits) {
      if (waits) waiting.add(orgId);
      else waiting.delete(orgId);
    },
    waits: (orgId) => waiting.has(orgId),
  };
}
