import { readFileSync } from "node:fs";
import type { Figures } from "../figures.ts";

/** How many times the recorded ratio a run may reach: noise stays far below, a gross loss does not. */
const MARGIN = 2;

/** The ratio of A to B that was measured when it was last written down. */
export interface Baseline {
  cpuPerQueryToFloor: number;
}

export function readBaseline(): Baseline {
  return JSON.parse(readFileSync(new URL("../baseline.json", import.meta.url), "utf8")) as Baseline;
}

/** Undefined when all is well, else what is wrong and what to do. */
export function guard(baseline: Baseline, ours: Figures, floor: Figures): string | undefined {
  const ratio = (ours.at16CpuMs ?? Number.NaN) / (floor.at16CpuMs ?? Number.NaN);
  const limit = MARGIN * baseline.cpuPerQueryToFloor;
  if (ratio <= limit) return undefined;
  return `A query costs ${ratio.toFixed(2)} times the floor's CPU time; ${baseline.cpuPerQueryToFloor.toFixed(2)} times was recorded and ${limit.toFixed(2)} is the limit. Find what was added with \`node --cpu-prof\` (docs/performance.md), or record a new ratio in bench/baseline.json and say why.`;
}
