import { parseArgs } from "node:util";
import { findMutants } from "./hunt.ts";
import { applyMutant } from "./mutants.ts";

const HELP = `pnpm simulate [--seeds N] [--from S] [--postgres] [--trace] [--json] [--mutant NAME | --mutants]

  --seeds    how many seeds (default 100; 2000 with --mutants)
  --from     the first seed (default 1)
  --postgres on Postgres instead of SQLite
  --trace    prints every step of the first seed
  --json     prints the totals as one JSON object
  --mutant   breaks the product as mutants.ts says, and stops at the first violation
  --mutants  prints for each mutant the first seed that finds it`;

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    from: { type: "string", default: "1" },
    postgres: { type: "boolean", default: false },
    trace: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    mutant: { type: "string" },
    mutants: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  process.stdout.write(`${HELP}\n`);
  process.exit(0);
}
if (values.mutants) process.exit((await findMutants(Number(values.seeds ?? 2_000))) > 0 ? 1 : 0);
if (values.mutant !== undefined) applyMutant(values.mutant);
// Only now: the product is imported with the mutant's change.
const { simulate } = await import("./simulate.ts");

const from = Number(values.from);
const count = Number(values.seeds ?? 100);
const totals = { seeds: 0, runs: 0, calls: 0, violations: 0, simulatedMs: 0, steps: 0 };
const faults: Record<string, number> = {};
const ends: Record<string, number> = {};
const add = (to: Record<string, number>, more: Record<string, number>): void => {
  for (const [name, number] of Object.entries(more)) to[name] = (to[name] ?? 0) + number;
};
const options = values.postgres ? { open: await (await import("./postgres.ts")).startPostgres() } : {};
for (let seed = from; seed < from + count; seed++) {
  const result = await simulate(seed, { ...options, traced: values.trace && seed === from });
  for (const line of result.trace) process.stdout.write(`${line}\n`);
  const { runs, calls, simulatedMs, steps, violations } = result;
  add(totals, { seeds: 1, runs, calls, simulatedMs, steps, violations: violations.length });
  add(faults, result.faults);
  add(ends, result.ends);
  if (violations.length === 0) continue;
  process.stdout.write(
    `seed ${seed}: ${violations.length} violations; repeat: pnpm simulate --seeds 1 --from ${seed}\n`,
  );
  for (const violation of violations.slice(0, 10)) process.stdout.write(`  ${violation}\n`);
  if (values.mutant !== undefined) break;
}
const { user, system } = process.cpuUsage();
const cpuSeconds = Math.round((user + system) / 100_000) / 10;
process.stdout.write(`${JSON.stringify({ ...totals, cpuSeconds, faults, ends }, undefined, values.json ? 0 : 2)}\n`);
process.exit(totals.violations > 0 ? 1 : 0);
