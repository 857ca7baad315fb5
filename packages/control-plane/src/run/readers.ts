import type { RunHandle } from "./api.ts";

const GRACE_MS = 5_000;

interface Audience {
  readers: number;
  cancelWhenGone: boolean;
  leaving?: NodeJS.Timeout;
}

/** Counts the readers of runs, and asks for the end of a run whose readers, having wanted that, are all gone for 5 s. */
export function createReaders(abandon: (run: RunHandle) => void) {
  const audiences = new Map<string, Audience>();

  return {
    attach(run: RunHandle, { cancelWhenGone }: { cancelWhenGone: boolean }): Disposable {
      const audience = audiences.get(run.runId) ?? { readers: 0, cancelWhenGone: false };
      audiences.set(run.runId, audience);
      audience.readers++;
      audience.cancelWhenGone ||= cancelWhenGone;
      clearTimeout(audience.leaving);
      let attached = true;
      return {
        [Symbol.dispose]() {
          if (!attached) return;
          attached = false;
          if (--audience.readers > 0) return;
          if (!audience.cancelWhenGone) return void audiences.delete(run.runId);
          audience.leaving = setTimeout(() => {
            audiences.delete(run.runId);
            abandon(run);
          }, GRACE_MS);
          audience.leaving.unref();
        },
      };
    },
  };
}
