import { inspect, parseArgs } from "node:util";
import type { Outcome } from "./figures.ts";
import { brokenPromises } from "./promises/index.ts";
import { chooseSeed, runScenario, type SeededTerms } from "./run-scenario.ts";
import { LONG, type Scenario } from "./scenarios/index.ts";
import { writeFigures } from "./stored-figures.ts";

const HELP = `pnpm faults [--minutes N] [--only name,name] [--rate N] [--seed S] [--json] [--write]

  --minutes  duration of each scenario without a fixed one (default 2)
  --only     scenarios to run: ${LONG.map(({ scenario }) => scenario.name).join(", ")}
  --rate     queries per second, streams or rounds, depending on the scenario
  --seed     repeats the random choices of a run that printed it (also PATCHBAY_FAULT_SEED)
  --json     one JSON object with all figures on stdout at the end
  --write    stores the figures of each scenario in test/faults/figures.json, and writes docs/reliability.md with them`;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "2" },
    only: { type: "string" },
    rate: { type: "string" },
    seed: { type: "string" },
    json: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const wanted = values.only?.split(",");
const unknown = wanted?.filter((name) => !LONG.some(({ scenario }) => scenario.name === name)) ?? [];
if (values.help || unknown.length > 0) {
  process.stdout.write(`${unknown.map((name) => `Unknown scenario ${name}.\n`).join("")}${HELP}\n`);
  process.exit(unknown.length > 0 ? 2 : 0);
}

// A signal runs no exit handlers by itself, and would leave replicas, databases and buses behind.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

/** Runs a scenario without other load on the machine, as the promises about its figures require. */
async function measure(scenario: Scenario, terms: SeededTerms): Promise<Outcome> {
  const { figures, violations } = await runScenario(scenario, terms);
  if (values.write) writeFigures(scenario.name, figures);
  const broken = brokenPromises(scenario.name, figures);
  for (const one of broken) process.stderr.write(`  ${one}\n`);
  return { figures, violations: [...violations, ...broken] };
}

const seed = values.seed === undefined ? chooseSeed() : Number(values.seed);
const outcomes: Record<string, Outcome> = {};
for (const { scenario, terms } of LONG.filter(({ scenario }) => wanted?.includes(scenario.name) ?? true)) {
  const size = values.rate === undefined ? terms.rate : Number(values.rate);
  const long = { seconds: 60 * Number(values.minutes), ...terms, rate: size };
  outcomes[scenario.name] = await measure(scenario, { ...long, seed }).catch((error: unknown) => {
    const shown = inspect(error);
    process.stderr.write(`fault-lab ${scenario.name}: failed: ${shown}\n`);
    return { figures: { seed }, violations: [`the scenario failed: ${shown}`] };
  });
}
if (values.json) process.stdout.write(`${JSON.stringify(outcomes)}\n`);
process.exit(Object.values(outcomes).some(({ violations }) => violations.length > 0) ? 1 : 0);
