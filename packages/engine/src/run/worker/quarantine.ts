import { monotonicMs } from "@patchbay/kit/time";
import type { RunRecord } from "../../ports/records.ts";
import { SUSPECT_CRASHES } from "../../ports/quarantine.ts";
import { type RunContext, withRetry } from "../run-context.ts";
import { LEASE_MS } from "./leases.ts";

/**
 * How long a process must survive a group of suspects before it takes the next one. The time doubles with each further
 * crash of its runs, to find a run that crashes its process late.
 */
const SURVIVE_MS = 3_000;
const MAX_SURVIVE_MS = 600_000;
/** Limits the crashes until a run is found that crashes its process: they are log2 of the group's size. */
const MAX_GROUP = 256;

/** True for a run that was in progress at enough crashes that it may have caused them. */
export const isSuspect = ({ crashes }: RunRecord): boolean => crashes >= SUSPECT_CRASHES;

/** What resuming suspects needs from the executor. */
export interface QuarantineHost {
  owner: string;
  /** False once the process is stopping: it claims no further runs. */
  accepting(): boolean;
  /** Takes one of the organisation's slots, even when none is free. */
  force(orgId: string): void;
  /** Works on a run that has its slot. `since`: when its lease was asked for. Resolves when the run has ended or moved. */
  work(run: RunRecord, since: number): Promise<void>;
  stopped: AbortSignal;
}

/**
 * Resumes suspects in groups: the first has one run, each further one twice as many, as long as the process survives
 * them. A crash leads to smaller groups, whose sizes the store has, and counts against a suspect that was by itself. So
 * innocent runs continue soon.
 */
export function createQuarantine(host: QuarantineHost, { runs, clock, log }: RunContext) {
  const { owner, accepting, work, stopped } = host;
  let busy = false;
  /** On the monotonic clock. Before this time, runs that crashed once, and were resumed immediately, may cause a crash. */
  let delayedUntil = 0;

  async function survive(group: readonly RunRecord[], since: number): Promise<void> {
    const crashes = Math.max(...group.map((run) => run.crashes)) - SUSPECT_CRASHES;
    const surviveMs = Math.min(MAX_SURVIVE_MS, SURVIVE_MS * 2 ** crashes);
    const ended = new AbortController();
    const signal = AbortSignal.any([ended.signal, stopped]);
    const ids = group.map(({ runId }) => runId);
    const survived = clock
      .sleep(surviveMs, { signal })
      .then(() => withRetry(() => runs.clearSuspects(owner, ids), { clock, log, signal: stopped }));
    for (const { orgId } of group) host.force(orgId);
    try {
      await Promise.race([Promise.all(group.map((run) => work(run, since))), survived]);
    } finally {
      ended.abort();
    }
  }

  async function resume(): Promise<void> {
    const delayMs = delayedUntil - monotonicMs();
    if (delayMs > 0) await clock.sleep(delayMs, { signal: stopped });
    for (let limit = 1; accepting(); limit = Math.min(MAX_GROUP, 2 * limit)) {
      const since = monotonicMs();
      const { runs: group, waiting } = await runs.claimSuspects({ owner, leaseMs: LEASE_MS, limit });
      if (group.length === 0) return;
      const [{ crashes }] = group as [RunRecord];
      log.warn("runs in quarantine are resumed", { runs: group.length, crashes, waiting });
      await survive(group, since);
      log.info("process survived runs in quarantine", { runs: group.length, waiting });
    }
  }

  return {
    /** Call when a run that crashed once is resumed. */
    delay: (): void => void (delayedUntil = monotonicMs() + SURVIVE_MS),

    /** Resumes suspects until none waits, unless it does that already. */
    async claim(): Promise<void> {
      if (busy) return;
      busy = true;
      try {
        await resume();
      } finally {
        busy = false;
      }
    },
  };
}
