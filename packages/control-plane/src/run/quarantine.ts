import type { Clock } from "../ports/clock.ts";
import type { RunRecord } from "../ports/records.ts";
import { SUSPECT_CRASHES } from "../ports/run-store.ts";

/**
 * What a suspect's process must survive before the next suspect joins it. It doubles with each crash of the run, so that a run
 * that ends its process late is found too.
 */
const SURVIVE_MS = 3_000;
const LONGEST_MS = 600_000;

/** Claims in quarantine after which a run is not resumed any more. */
export const MOST_CLAIMS = 2;

/** True for a run that was in progress at so many crashes that it may have caused them. */
export const isSuspect = ({ crashes }: RunRecord): boolean => crashes >= SUSPECT_CRASHES;

export interface QuarantineDeps {
  /** Claims the next suspect; undefined when there is none. */
  claim(): Promise<RunRecord | undefined>;
  /** Works on a run until it has ended or moved. */
  work(run: RunRecord): Promise<void>;
  /** Stores that the process has survived the run. */
  clear(run: RunRecord): Promise<void>;
  clock: Clock;
  stopped: AbortSignal;
}

/**
 * Resumes suspects one at a time. A crash then counts against the one suspect that was in quarantine, and against none of the
 * runs that were only in progress beside it. Returns what takes up waiting suspects until none is left.
 */
export function createQuarantine({ claim, work, clear, clock, stopped }: QuarantineDeps): () => Promise<void> {
  let taken = false;

  async function survive(run: RunRecord): Promise<void> {
    const ended = new AbortController();
    const ms = Math.min(LONGEST_MS, SURVIVE_MS * 2 ** (run.crashes - SUSPECT_CRASHES));
    const survived = clock.sleep(ms, { signal: AbortSignal.any([ended.signal, stopped]) }).then(() => clear(run));
    try {
      await Promise.race([work(run), survived]);
    } finally {
      ended.abort();
    }
  }

  return async () => {
    if (taken) return;
    taken = true;
    try {
      for (let run = await claim(); run; run = await claim()) await survive(run);
    } finally {
      taken = false;
    }
  };
}
