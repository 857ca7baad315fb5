import { setTimeout as sleep } from "node:timers/promises";
import type { Figures } from "./figures.ts";
import { consoleLists } from "./console-lists.ts";
import type { Generator } from "./generator.ts";
import { median } from "./jobs.ts";
import type { Deployed } from "./patchbay.ts";
import { cpuOf, firstAnswer, loading } from "./round.ts";
import { SAMPLE, type Seed } from "./seed.ts";
import type { Copy } from "./storage.ts";
import type { System } from "./system.ts";

const SEED: Seed = { runs: 200_000, newest: 20_000 };
const ROUNDS = 3;
const WARM_UP = { count: 1_000, ms: 6_000 };
const MEASURE = { count: 1_000, ms: 5_000 };
const QUESTION = { model: "short", form: "json" } as const;

/** The cost of a query on an empty database and on one with 200,000 stored runs, alternating. */
export async function retained(
  { letter, storage, startOn, console }: Deployed,
  provider: string,
  generator: Generator,
  note: (text: string) => void,
): Promise<Figures> {
  await using full = await storage.copy();
  {
    await using system = await startOn(full, { provider });
    await firstAnswer(system);
    await loading(system, generator).load(QUESTION, 1, { count: 2 * SAMPLE });
  }
  note(`${letter}: storing ${SEED.runs} runs`);
  await full.seed(SEED);

  async function measure(copy: Copy): Promise<{ cpuMs: number; kb: number }> {
    await using system = await startOn(copy, { provider });
    await firstAnswer(system);
    const { load, measured } = loading(system, generator);
    await load(QUESTION, 16, WARM_UP);
    const before = await copy.bytes();
    const { cpuPerQueryMs, done } = await measured(QUESTION, 16, MEASURE);
    return { cpuMs: cpuPerQueryMs, kb: ((await copy.bytes()) - before) / 1024 / done };
  }
  async function listing(): Promise<Figures> {
    await using system = await startOn(full, { provider });
    await firstAnswer(system);
    await untilIdle(system);
    return await consoleLists(`http://127.0.0.1:${system.ports[0]}`, console, note);
  }
  const rounds: { without: { cpuMs: number; kb: number }; with: { cpuMs: number; kb: number } }[] = [];
  for (let i = 1; i <= ROUNDS; i++) {
    note(`${letter}: queries with and without stored runs, ${i} of ${ROUNDS}`);
    await using empty = await storage.copy();
    rounds.push({ without: await measure(empty), with: await measure(full) });
  }
  note(`${letter}: lists of runs`);
  const lists = await listing();
  const over = (value: (round: (typeof rounds)[number]) => number): number => median(rounds.map(value));
  return {
    ...lists,
    retained0CpuMs: over((round) => round.without.cpuMs),
    retained200000CpuMs: over((round) => round.with.cpuMs),
    retained0Kb: over((round) => round.without.kb),
    retained200000Kb: over((round) => round.with.kb),
  };
}

const IDLE_SHARE = 0.1;
const WINDOW_MS = 500;
const MOST_WINDOWS = 120;

/**
 * After a start, the server looks for runs that are not indexed. Here it reads all of them for seconds, because copies are not numbered
 * by their ends as real runs are.
 */
async function untilIdle(system: System): Promise<void> {
  for (let i = 0; i < MOST_WINDOWS; i++) {
    const before = cpuOf(system).all;
    await sleep(WINDOW_MS);
    if (cpuOf(system).all - before < IDLE_SHARE * WINDOW_MS) return;
  }
  throw new Error(`the server still works ${(MOST_WINDOWS * WINDOW_MS) / 1_000} s after its start`);
}
