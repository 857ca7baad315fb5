import { readFileSync } from "node:fs";
import type { Figures } from "../figures.ts";

/** A run may reach the recorded ratio times this: noise stays far below, a large regression does not. */
const MARGIN = 2;

/** The recorded ratio of A to B. */
export interface Baseline {
  cpuPerQueryToFloor: number;
}

export function readBaseline(): Baseline {
  return JSON.parse(readFileSync(new URL("../baseline.json", import.meta.url), "utf8")) as Baseline;
}

/** What is wrong and what to do; undefined when the ratio is within the limit. */
export function guard(baseline: Baseline, ours: Figures, floor: Figures): string | undefined {
  const ratio = (ours.at16CpuMs ?? Number.NaN) / (floor.at16CpuMs ?? Number.NaN);
  const limit = MARGIN * baseline.cpuPerQueryToFloor;
  if (ratio <= limit) return undefined;
  return `A query costs ${ratio.toFixed(2)} times the CPU time of the floor; recorded is ${baseline.cpuPerQueryToFloor.toFixed(2)}, the limit ${limit.toFixed(2)}. Find the cause with \`node --cpu-prof\` (docs/performance.md), or record a new ratio in bench/baseline.json and say why.`;
}
