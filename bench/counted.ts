import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { ROOT } from "./build.ts";
import type { Generator } from "./generator.ts";
import { firstAnswer, loading } from "./round.ts";
import type { System, Target } from "./system.ts";

const WARM_UP = 5;
/** Ends earlier once the counts are the recorded ones: on a busy machine, work in intervals falls into most queries. */
const MOST_QUERIES = 100;
/** What a query leaves to do after its answer ends well before. */
const SETTLE_MS = 300;
const SIGNAL_MS = 5_000;

const COUNTED = ["statements", "commits", "rows", "writtenBytes", "frames"] as const;

/**
 * What one query costs, in numbers that do not depend on the machine. `writtenBytes` are the parameters of writing statements. `rows`
 * is absent on Postgres, whose answers do not tell the rows of a statement's parts.
 */
export type Counted = Record<Exclude<Count, "rows">, number> & { rows?: number };
type Count = (typeof COUNTED)[number];

/**
 * What a query does to the database and on the WebSocket, counted in the server and in the functions' process: of up to 100 queries
 * one after the other, the least of each count. What the processes do in intervals only adds to it.
 */
export async function counted(
  target: Target,
  { provider, generator, folder }: { provider: string; generator: Generator; folder: string },
  recorded: Counted | undefined,
): Promise<Counted> {
  const packages = join(ROOT, "packages/control-plane/package.json");
  const out = join(folder, `counts-${target.letter}`);
  writeFileSync(out, "");
  const preload = pathToFileURL(join(import.meta.dirname, "counted/counters.ts"));
  preload.search = new URLSearchParams({ out, packages }).toString();

  await using system = await target.start({ provider, preload: preload.href });
  await firstAnswer(system);
  const { load } = loading(system, generator);
  const query = async (): Promise<void> => {
    await load({ model: "short", form: "json" }, 1, { count: 1 });
    await sleep(SETTLE_MS);
  };
  for (let i = 0; i < WARM_UP; i++) await query();
  const names = COUNTED.filter((name) => name !== "rows" || target.letter === "A");
  const least = new Map<Count, number>();
  const isRecorded = () => names.every((name) => least.get(name) === recorded?.[name]);
  for (let i = 0; i < MOST_QUERIES && !(least.size > 0 && isRecorded()); i++) {
    const before = await countsOf(system, out);
    await query();
    const now = await countsOf(system, out);
    for (const name of names) least.set(name, Math.min(least.get(name) ?? Infinity, now[name] - before[name]));
  }
  return Object.fromEntries(least) as Counted;
}

/** The sum over the processes. */
async function countsOf(system: System, out: string): Promise<Record<Count, number>> {
  writeFileSync(out, "");
  const pids = system.pids();
  for (const pid of pids) process.kill(pid, "SIGUSR2");
  const giveUpAt = performance.now() + SIGNAL_MS;
  for (;;) {
    const lines = readFileSync(out, "utf8").split("\n").filter(Boolean);
    if (lines.length === pids.length) {
      const all = lines.map((line) => JSON.parse(line) as Record<Count, number>);
      const sums = COUNTED.map((name) => [name, all.reduce((sum, counts) => sum + counts[name], 0)]);
      return Object.fromEntries(sums) as Record<Count, number>;
    }
    if (performance.now() > giveUpAt)
      throw new Error(`${lines.length} of ${pids.length} processes reported their counts within ${SIGNAL_MS} ms.`);
    await sleep(5);
  }
}
