import { readFileSync } from "node:fs";
import type { Letter } from "../system.ts";
import type { Measured } from "./musts.ts";

/** A run may reach a recorded ratio times this: noise stays far below, a large regression does not. */
const MARGIN = 2;

/** What was recorded, by engine. */
export interface Baseline {
  /** CPU time of a query over that of the floor. */
  cpuPerQueryToFloor: Record<Engine, number>;
  /** What one query at a time does. */
  counts: NonNullable<Measured["counts"]>;
}

type Engine = keyof typeof PAIRS;
const PAIRS = { embedded: ["A", "B"], postgres: ["P", "F"] } as const;

export function readBaseline(): Baseline {
  return JSON.parse(readFileSync(new URL("../baseline.json", import.meta.url), "utf8")) as Baseline;
}

/** What is wrong and what to do, for each count that differs from the recorded one. */
export function guardCounts(baseline: Pick<Baseline, "counts">, measured: Measured["counts"] = {}): string[] {
  return (Object.keys(measured) as Letter[]).flatMap((letter) => {
    const recorded: Partial<Record<string, number>> = baseline.counts[letter] ?? {};
    return Object.entries(measured[letter]!)
      .filter(([name, count]) => recorded[name] !== count)
      .map(
        ([name, count]) =>
          `A query of ${letter} has ${count} ${name}; recorded are ${recorded[name]}. Find the cause, or record the new count in bench/baseline.json and say why in the commit.`,
      );
  });
}

/** What is wrong and what to do, for each engine of the wanted systems that was not measured with its floor or is above the limit. */
export function guard(
  { cpuPerQueryToFloor }: Baseline,
  systems: Measured["systems"],
  wanted: readonly Letter[],
): string[] {
  return (Object.keys(PAIRS) as Engine[]).flatMap((engine) => {
    const pair = PAIRS[engine];
    if (!pair.every((letter) => wanted.includes(letter))) return [];
    const [ours, floor] = pair.map((letter) => systems[letter]);
    if (!ours || !floor)
      return [
        `The cost of a query (${engine}) was not measured, because a system of ${pair.join(" and ")} could not be started. Install what the lines above name, or leave these systems out with --only.`,
      ];
    const ratio = (ours.at16CpuMs ?? Number.NaN) / (floor.at16CpuMs ?? Number.NaN);
    const recorded = cpuPerQueryToFloor[engine];
    if (ratio <= MARGIN * recorded) return [];
    return [
      `A query costs ${ratio.toFixed(2)} times the CPU time of the floor (${engine}); recorded is ${recorded.toFixed(2)}, the limit ${(MARGIN * recorded).toFixed(2)}. Find the cause with \`node --cpu-prof\` (docs/performance.md), or record a new ratio in bench/baseline.json and say why.`,
    ];
  });
}
