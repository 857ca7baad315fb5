import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { writeFigures } from "../faults/stored-figures.ts";
import { findMutants } from "./hunt.ts";
import { applyMutant } from "./mutants.ts";
import { addTotals, emptyTotals, simulateInParts, type Totals, totalsOf } from "./totals.ts";

const HELP = `pnpm simulate [--seeds N] [--from S] [--postgres] [--trace] [--json] [--write] [--mutant NAME | --mutants]

  --seeds    how many seeds (default 100; 2000 with --mutants)
  --from     the first seed (default 1)
  --postgres on Postgres instead of SQLite
  --trace    prints every step of the first seed
  --json     prints the totals as one JSON object
  --write    stores the totals in docs/reliability.md, with the commit
  --mutant   breaks the product as mutants.ts says, and stops at the first violation
  --mutants  prints for each mutant the first seed that finds it`;

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    from: { type: "string", default: "1" },
    postgres: { type: "boolean", default: false },
    trace: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
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
const from = Number(values.from);
const count = Number(values.seeds ?? 100);
/** Seeds per process: some memory of each seed stays. */
const PART = values.postgres ? 50 : 500;

const isWhole = count <= PART || values.mutant !== undefined || values.trace;
const totals = isWhole
  ? await simulateHere()
  : await simulateInParts({ from, count, part: PART, postgres: values.postgres }, availableParallelism());
process.stdout.write(`${JSON.stringify(totals, undefined, values.json ? 0 : 2)}\n`);
if (values.write) writeFigures(values.postgres ? "simulation-postgres" : "simulation", figuresOf(totals));
process.exit(totals.violations > 0 ? 1 : 0);

async function simulateHere(): Promise<Totals> {
  // Only now: the product is imported with the mutant's change.
  const { simulate } = await import("./simulate.ts");
  const sums = emptyTotals();
  const options = values.postgres ? { open: await (await import("./postgres.ts")).startPostgres() } : {};
  for (let seed = from; seed < from + count; seed++) {
    const result = await simulate(seed, { ...options, traced: values.trace && seed === from });
    for (const line of result.trace) process.stdout.write(`${line}\n`);
    addTotals(sums, totalsOf(result));
    const { violations } = result;
    if (violations.length === 0) continue;
    const how = `pnpm simulate --seeds 1 --from ${seed}${values.postgres ? " --postgres" : ""}`;
    process.stdout.write(`seed ${seed}: ${violations.length} violations; repeat: ${how}\n`);
    for (const violation of violations.slice(0, 10)) process.stdout.write(`  ${violation}\n`);
    if (values.mutant !== undefined) break;
  }
  const { user, system } = process.cpuUsage();
  return { ...sums, cpuSeconds: Math.round((user + system) / 1_000_000) };
}

function figuresOf({ seeds, runs, calls, violations, simulatedMs, faults }: Totals) {
  const simulatedHours = Math.round(simulatedMs / 3_600_000);
  return { firstSeed: from, seeds, simulatedHours, runs, calls, ...faults, violations };
}
