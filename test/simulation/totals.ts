import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Simulated } from "./simulate.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));

/** Sums over seeds. `faults` and `ends` count by kind. */
export interface Totals {
  seeds: number;
  runs: number;
  calls: number;
  violations: number;
  simulatedMs: number;
  steps: number;
  cpuSeconds: number;
  faults: Record<string, number>;
  ends: Record<string, number>;
}

export function emptyTotals(): Totals {
  return { seeds: 0, runs: 0, calls: 0, violations: 0, simulatedMs: 0, steps: 0, cpuSeconds: 0, faults: {}, ends: {} };
}

export const totalsOf = ({ violations, runs, calls, simulatedMs, steps, faults, ends }: Simulated): Totals => ({
  ...emptyTotals(),
  seeds: 1,
  runs,
  calls,
  simulatedMs,
  steps,
  faults,
  ends,
  violations: violations.length,
});

export function addTotals(to: Totals, more: Totals): void {
  for (const name of ["seeds", "runs", "calls", "violations", "simulatedMs", "steps", "cpuSeconds"] as const)
    to[name] += more[name];
  for (const kind of ["faults", "ends"] as const)
    for (const [name, number] of Object.entries(more[kind])) to[kind][name] = (to[kind][name] ?? 0) + number;
}

/** Simulates parts of the seeds in processes of their own, at most `most` at a time. Prints violations as they are found. */
export async function simulateInParts(
  { from, count, part, postgres }: { from: number; count: number; part: number; postgres: boolean },
  most: number,
): Promise<Totals> {
  const totals = emptyTotals();
  const ends = from + count;
  let next = from;
  async function work(): Promise<void> {
    while (next < ends) {
      const seeds = Math.min(part, ends - next);
      const args = ["--json", "--from", String(next), "--seeds", String(seeds), ...(postgres ? ["--postgres"] : [])];
      next += seeds;
      addTotals(totals, await simulatePart(args));
    }
  }
  await Promise.all(Array.from({ length: most }, () => work()));
  return totals;
}

async function simulatePart(args: readonly string[]): Promise<Totals> {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const ended = new Promise<number | null>((resolve) => void child.once("close", resolve));
  let totals: Totals | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith("{")) totals = JSON.parse(line) as Totals;
    else process.stdout.write(`${line}\n`);
  }
  const code = await ended;
  if (!totals) throw new Error(`The simulation ${args.join(" ")} ended with ${code}: ${errors}`);
  return totals;
}
