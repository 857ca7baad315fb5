const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  1_800_000, 3_600_000,
];

/** Round times from 0 to `endMs`, at most `most` of them behind the zero. */
export function ticksOf(endMs: number, most: number): number[] {
  const stepMs = STEPS_MS.find((step) => endMs / step <= most) ?? endMs / most;
  return Array.from({ length: Math.floor(endMs / stepMs) + 1 }, (_, index) => index * stepMs);
}

/** 50 ms, 1.5 s, 2 m, 1 m 30 s */
export function formatTick(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${ms / 1_000} s`;
  const seconds = Math.round((ms % 60_000) / 1_000);
  return `${Math.floor(ms / 60_000)} m${seconds === 0 ? "" : ` ${seconds} s`}`;
}

const HEADS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/** Where the axis ends: with the run, or somewhat behind now while it goes on, so that it moves seldom. */
export function axisEndOf(lastMs: number, running: boolean): number {
  const least = Math.max(1, lastMs);
  if (!running) return least;
  const wanted = Math.max(20, least * 1.1);
  const size = 10 ** Math.floor(Math.log10(wanted));
  return (HEADS.find((head) => head * size >= wanted) ?? 10) * size;
}
