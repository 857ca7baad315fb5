import { monotonicMs } from "@patchbay/kit/time";
import { createCounts } from "../../ports/by-key.ts";
import type { RunRecord } from "../../ports/records.ts";
import type { RunContext } from "../run-context.ts";
import { LEASE_MS } from "./leases.ts";
import { createQuarantine, type QuarantineHost } from "./quarantine.ts";

const CLAIM_LIMIT = 32;
/** Claims per organisation in one poll: a crashed replica may have left hundreds of runs. */
const CLAIMS_PER_POLL = 10;
/** A replica with this many runs claims one batch per poll, so that less busy replicas get the rest. */
const BUSY_RUNS = 256;

/** What claiming needs from the executor. */
interface ClaimHost extends Omit<QuarantineHost, "force"> {
  /** How many runs this process works on. */
  running(): number;
}

/** Claims runs without an owner. */
export function createClaims(host: ClaimHost, context: RunContext) {
  const { runs, log, limits } = context;
  const { owner } = host;
  const lease = { owner, leaseMs: LEASE_MS };
  const slots = createSlots(limits.runsPerOrganisation);
  /** Organisations whose waiting runs are being claimed. True when another run began to wait meanwhile. */
  const filling = new Map<string, boolean>();
  /** Threads that may have another run waiting behind this process's run. The poll finds runs in other threads. */
  const awaited = new Set<string>();
  const quarantine = createQuarantine({ ...host, force: slots.force }, context);

  /** Claims up to `limit` waiting runs for which their organisation has slots. True when more runs may wait. */
  async function claim(orgId: string, limit: number, threadId?: string): Promise<boolean> {
    const count = host.accepting() ? slots.reserve(orgId, limit) : 0;
    const since = monotonicMs();
    let claimed: RunRecord[] = [];
    try {
      if (count > 0) claimed = await runs.claim({ ...lease, orgId, limit: count, ...(threadId && { threadId }) });
    } catch (error) {
      log.warn("runs could not be claimed", { cause: error });
    }
    slots.free(orgId, count - claimed.length);
    for (const run of claimed) {
      if (run.crashes > 0) quarantine.delay();
      void host.work(run, since);
    }
    if (threadId === undefined || count === 0) slots.noteWaiting(orgId, claimed.length === count);
    return count > 0 && claimed.length === count;
  }

  /** Fills an organisation's free slots with its waiting runs. */
  async function fill(orgId: string): Promise<void> {
    // One claim at a time: concurrent ones would reserve slots that neither uses. Another round finds a run that
    // arrives now.
    if (filling.has(orgId)) return void filling.set(orgId, true);
    do {
      filling.set(orgId, false);
      while (await claim(orgId, CLAIM_LIMIT));
    } while (filling.get(orgId));
    filling.delete(orgId);
  }

  return {
    slots,
    claimSuspects: quarantine.claim,
    fill,
    claimOne: (orgId: string, threadId: string) => claim(orgId, 1, threadId),

    freeSlot(orgId: string): void {
      slots.free(orgId);
      if (slots.hasWaiting(orgId)) void fill(orgId);
    },

    /** Makes `threadFreed` claim the thread's next run immediately instead of at the next poll. */
    await: (threadId: string): void => void awaited.add(threadId),

    async threadFreed({ orgId, threadId }: RunRecord): Promise<void> {
      if (awaited.has(threadId) && !(await claim(orgId, 1, threadId))) awaited.delete(threadId);
    },

    /** Claims waiting runs, one batch per organisation in turn: one large backlog must not delay the others. */
    async claimAll(): Promise<void> {
      let orgs = await runs.waiting();
      for (let round = 0; round < CLAIMS_PER_POLL && orgs.length > 0; round++) {
        if (round > 0 && host.running() >= BUSY_RUNS) return;
        const more: string[] = [];
        for (const orgId of orgs) if (await claim(orgId, CLAIM_LIMIT)) more.push(orgId);
        orgs = more;
      }
    },

    /** Claims runs that only have to be ended: cancelled, or past their deadline. They need no free slot. */
    async claimExpired(): Promise<void> {
      for (let batch = 0; batch < CLAIMS_PER_POLL; batch++) {
        const since = monotonicMs();
        const expired = await runs.claimExpired({ ...lease, limit: CLAIM_LIMIT });
        for (const run of expired) {
          slots.force(run.orgId);
          void host.work(run, since);
        }
        if (expired.length < CLAIM_LIMIT) return;
      }
    },
  };
}

/** How many runs this process works on per organisation, and which organisations have more runs waiting. */
function createSlots(perOrganisation: number) {
  const taken = createCounts();
  const waiting = new Set<string>();
  /** Takes up to `limit` free slots; returns their number. */
  function reserve(orgId: string, limit: number): number {
    const count = Math.min(limit, Math.max(0, perOrganisation - taken.of(orgId)));
    taken.add(orgId, count);
    return count;
  }
  return {
    reserve,
    /** Takes a slot for a new run. False when the organisation has no free slot or has waiting runs: the run then waits too. */
    take(orgId: string): boolean {
      // A slot may be free while the runs that wait for it are being claimed. A new run must not overtake them.
      if (!waiting.has(orgId) && reserve(orgId, 1) > 0) return true;
      waiting.add(orgId);
      return false;
    },
    /** Takes a slot even when none is free. */
    force: (orgId: string) => taken.add(orgId, 1),
    free: (orgId: string, count = 1) => taken.add(orgId, -count),
    noteWaiting(orgId: string, waits: boolean): void {
      if (waits) waiting.add(orgId);
      else waiting.delete(orgId);
    },
    hasWaiting: (orgId: string): boolean => waiting.has(orgId),
  };
}
