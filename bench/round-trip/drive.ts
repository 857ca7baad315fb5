import type { Figures } from "../figures.ts";
import { quantile } from "../jobs.ts";
import { cpuMs } from "../process.ts";

/** Calls a function that returns its text. */
export type Echo = (text: string) => Promise<unknown>;

const SIZES = [
  { name: "200B", bytes: 200, warmUp: 5_000, single: 2_000, together: 20_000 },
  { name: "10KB", bytes: 10_000, warmUp: 500, single: 500, together: 3_000 },
  { name: "200KB", bytes: 200_000, warmUp: 20, single: 100, together: 300 },
] as const;
const TOGETHER = 64;

/** Measures calls one after the other, then 64 at a time. CPU time is that of this process and of `functions`, the other one. */
export async function drive(echo: Echo, functions: number): Promise<Figures> {
  const figures: Figures = {};
  for (const { name, bytes, warmUp, single, together } of SIZES) {
    const text = "x".repeat(bytes - 20);
    await many(echo, text, warmUp);
    const taken: number[] = [];
    for (let i = 0; i < single; i++) {
      const from = performance.now();
      await echo(text);
      taken.push(performance.now() - from);
    }
    const pids = [process.pid, functions];
    const [cpuBefore, from] = [cpuMs(pids), performance.now()];
    await many(echo, text, together);
    figures[`call${name}P50Ms`] = quantile(taken, 0.5);
    figures[`call${name}PerSecond`] = (together * 1000) / (performance.now() - from);
    figures[`call${name}CpuUs`] = ((cpuMs(pids) - cpuBefore) * 1000) / together;
  }
  return figures;
}

async function many(echo: Echo, text: string, count: number): Promise<void> {
  let left = count;
  async function work(): Promise<void> {
    while (left-- > 0) await echo(text);
  }
  await Promise.all(Array.from({ length: TOGETHER }, work));
}

/** Prints the figures as the ready line that the benchmark waits for. */
export function report(figures: Figures): void {
  process.stdout.write(`${JSON.stringify({ ready: true, figures })}\n`);
}

export const argument = (at: number): string => process.argv[at + 2] ?? "";
