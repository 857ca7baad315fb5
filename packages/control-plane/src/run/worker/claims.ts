import type { Clock } from "../../ports/clock.ts";
import type { RunRecord } from "../../ports/records.ts";
import { type RunStore, SUSPECT_CRASHES } from "../../ports/run-store.ts";
import type { RunContext } from "../run-context.ts";
import { LEASE_MS } from "./leases.ts";

const CLAIM_LIMIT = 32;
/** Claims of one organisation in one poll: a replica that crashed may have left hundreds of runs. */
const CLAIMS_PER_POLL = 10;
/** A replica with this many runs claims one batch per poll, so that less busy replicas get the rest. */
const BUSY_RUNS = 256;

/** What claiming needs from the executor. */
interface ClaimHost {
  owner: string;
  /** Number of runs that this process works on. */
  running(): number;
  /** False once the process is stopping: it claims no further runs. */
  accepting(): boolean;
  /** Works on a run that has its slot. Resolves when the run has ended or moved. */
  work(run: RunRecord): Promise<void>;
  stopped: AbortSignal;
}

/** Takes up runs that no process works on. */
export function createClaims(host: ClaimHost, { runs, log, clock, limits }: RunContext) {
  const { owner } = host;
  const lease = { owner, leaseMs: LEASE_MS };
  const slots = createSlots(limits.runsPerOrganisation);
  /** Organisations whose waiting runs are being claimed. True when another run began to wait meanwhile. */
  const filling = new Map<string, boolean>();
  /** Threads that may have another run waiting behind one of this process. The poll finds runs of other threads. */
  const awaited = new Set<string>();
  const claimSuspects = createQuarantine({ runs, clock, ...host, slots });

  /** Claims up to `limit` waiting runs for which their organisation has slots. True when more runs may wait. */
  async function claim(orgId: string, limit: number, threadId?: string): Promise<boolean> {
    const count = host.accepting() ? slots.reserve(orgId, limit) : 0;
    let claimed: RunRecord[] = [];
    try {
      if (count > 0) claimed = await runs.claim({ ...lease, orgId, limit: count, ...(threadId && { threadId }) });
    } catch (error) {
      log.warn("runs could not be claimed", { cause: error });
    }
    slots.free(orgId, count - claimed.length);
    for (const run of claimed) void host.work(run);
    if (threadId === undefined || count === 0) slots.noteWaiting(orgId, claimed.length === count);
    return count > 0 && claimed.length === count;
  }

  /** Gives free slots of an organisation to its waiting runs. */
  async function fill(orgId: string): Promise<void> {
    // One claim at a time: concurrent ones would reserve slots that neither uses. A run that comes now is found by another round.
    if (filling.has(orgId)) return void filling.set(orgId, true);
    do {
      filling.set(orgId, false);
      while (await claim(orgId, CLAIM_LIMIT));
    } while (filling.get(orgId));
    filling.delete(orgId);
  }

  return {
    slots,
    claimSuspects,
    fill,
    claimOne: (orgId: string, threadId: string) => claim(orgId, 1, threadId),

    freeSlot(orgId: string): void {
      slots.free(orgId);
      if (slots.hasWaiting(orgId)) void fill(orgId);
    },

    /** Makes `threadFreed` claim the next run of this thread immediately instead of at the next poll. */
    await: (threadId: string): void => void awaited.add(threadId),

    async threadFreed({ orgId, threadId }: RunRecord): Promise<void> {
      if (awaited.has(threadId) && !(await claim(orgId, 1, threadId))) awaited.delete(threadId);
    },

    /** Claims waiting runs, one batch of each organisation in turn: a large backlog of one must not delay the others. */
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
        const expired = await runs.claimExpired({ ...lease, limit: CLAIM_LIMIT });
        for (const run of expired) {
          slots.force(run.orgId);
          void host.work(run);
        }
        if (expired.length < CLAIM_LIMIT) return;
      }
    },
  };
}

/** How many runs of each organisation this process works on, and which organisations have more runs waiting. */
export type Slots = ReturnType<typeof createSlots>;

function createSlots(perOrganisation: number) {
  const taken = new Map<string, number>();
  const waiting = new Set<string>();
  const add = (orgId: string, count: number): void => {
    const now = (taken.get(orgId) ?? 0) + count;
    if (now > 0) taken.set(orgId, now);
    else taken.delete(orgId);
  };
  /** Takes up to `limit` free slots; returns their number. */
  function reserve(orgId: string, limit: number): number {
    const count = Math.min(limit, Math.max(0, perOrganisation - (taken.get(orgId) ?? 0)));
    add(orgId, count);
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
    force: (orgId: string) => add(orgId, 1),
    free: (orgId: string, count = 1) => add(orgId, -count),
    noteWaiting(orgId: string, waits: boolean): void {
      if (waits) waiting.add(orgId);
      else waiting.delete(orgId);
    },
    hasWaiting: (orgId: string): boolean => waiting.has(orgId),
  };
}

/**
 * How long a process must survive a suspect before it takes the next one. The time doubles with each crash of the run, to find a run
 * that crashes its process late.
 */
const SURVIVE_MS = 3_000;
const MAX_SURVIVE_MS = 600_000;

/** A run that was claimed in quarantine more often than this is ended. */
export const MAX_QUARANTINE_CLAIMS = 2;

/** True for a run that was in progress at enough crashes that it may have caused them. */
export const isSuspect = ({ crashes }: RunRecord): boolean => crashes >= SUSPECT_CRASHES;

/**
 * Returns a function that resumes waiting suspects one at a time. A crash then counts against the one suspect in quarantine. If
 * suspects ran together, a crash would end innocent ones too.
 */
function createQuarantine({
  runs,
  clock,
  slots,
  owner,
  accepting,
  work,
  stopped,
}: Omit<ClaimHost, "running"> & { runs: RunStore; clock: Clock; slots: Slots }): () => Promise<void> {
  let busy = false;
  const claim = async (): Promise<RunRecord | undefined> =>
    accepting() ? await runs.claimSuspect({ owner, leaseMs: LEASE_MS }) : undefined;

  async function survive(run: RunRecord): Promise<void> {
    const ended = new AbortController();
    const ms = Math.min(MAX_SURVIVE_MS, SURVIVE_MS * 2 ** (run.crashes - SUSPECT_CRASHES));
    const signal = AbortSignal.any([ended.signal, stopped]);
    const survived = clock.sleep(ms, { signal }).then(() => runs.clearSuspect(run));
    slots.force(run.orgId);
    try {
      await Promise.race([work(run), survived]);
    } finally {
      ended.abort();
    }
  }

  return async () => {
    if (busy) return;
    busy = true;
    try {
      for (let run = await claim(); run; run = await claim()) await survive(run);
    } finally {
      busy = false;
    }
  };
}
