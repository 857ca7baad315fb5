import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { MUTANTS } from "./mutants.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const AT_ONCE = 2;

/** What the first seed that a mutant breaks shows. */
export interface Found {
  seed: number;
  violation: string;
}

/** Runs seeds with the mutant in a process of its own until one has a violation. */
export async function findMutant(name: string, seeds: number): Promise<Found | undefined> {
  const child = spawn(process.execPath, [MAIN, "--mutant", name, "--seeds", String(seeds)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const ended = new Promise<number | null>((resolve) => void child.once("close", resolve));
  let seed: number | undefined;
  let found: Found | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    seed ??= Number(/^seed (\d+):/.exec(line)?.[1] ?? Number.NaN) || undefined;
    if (seed !== undefined && line.startsWith("  ")) found ??= { seed, violation: line.trim() };
  }
  const code = await ended;
  if (!found && code !== 0) throw new Error(`The simulation with mutant ${name} ended with ${code}: ${errors}`);
  return found;
}

/** Prints the first seed of each mutant. Returns how many were not found. */
export async function findMutants(seeds: number): Promise<number> {
  const waiting = [...MUTANTS];
  let left = 0;
  async function work(): Promise<void> {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { name } = next;
      const found = await findMutant(name, seeds);
      if (!found) left++;
      process.stdout.write(`| ${name} | ${found ? `${found.seed} | ${found.violation}` : "none |"} |\n`);
    }
  }
  process.stdout.write("| mutant | first seed | first violation |\n| --- | --- | --- |\n");
  await Promise.all(Array.from({ length: AT_ONCE }, () => work()));
  return left;
}
