import { FUNCTION_NAME } from "@patchbay/protocol";
import type { CalledFunction } from "../../ports/console-insight.ts";
import { addToBin, type Histogram, percentile } from "./percentiles.ts";

/** Calls of one function that ended alike and took about as long. */
export interface CallCount {
  name: string;
  state: "succeeded" | "failed" | "denied" | null;
  bin: number;
  count: number;
  ms: number;
}

interface Called {
  calls: number;
  failed: number;
  denied: number;
  totalMs: number;
  times: Histogram;
}

/** Puts calls together by their function. */
export function callTally() {
  const functions = new Map<string, Called>();
  return {
    add({ name, state, bin, count, ms }: CallCount): void {
      // A model may say anything where a name belongs.
      const known = FUNCTION_NAME.test(name) ? name : "(not a name)";
      const called = functions.get(known) ?? { calls: 0, failed: 0, denied: 0, totalMs: 0, times: new Map() };
      functions.set(known, called);
      called.calls += count;
      if (state === "denied") {
        called.denied += count;
        return;
      }
      if (state === "failed") called.failed += count;
      called.totalMs += ms;
      addToBin(called.times, bin, count);
    },
    figures: (): CalledFunction[] =>
      [...functions]
        .map(([name, { times, ...counts }]) => ({
          name,
          ...counts,
          p50Ms: percentile(times, 0.5),
          p95Ms: percentile(times, 0.95),
        }))
        .toSorted((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1)),
  };
}
