import { setImmediate } from "node:timers/promises";

const SLICES = 8;

export interface Slice {
  from: number;
  to: number;
}

/**
 * Reads a long time in a few parts, the newest first. A database sorts what it groups: short statements cost less, and other
 * reads are served between them.
 */
export async function inSlices(
  { from, to }: Slice,
  step: { firstAt: number; widthMs: number },
  read: (slice: Slice) => Promise<void>,
): Promise<void> {
  const steps = Math.ceil((to - step.firstAt) / step.widthMs);
  const each = Math.ceil(steps / SLICES);
  for (let last = steps; last > 0; last -= each) {
    const at = (index: number) => step.firstAt + index * step.widthMs;
    await read({ from: Math.max(from, at(Math.max(0, last - each))), to: Math.min(to, at(last)) });
    await setImmediate();
  }
}
