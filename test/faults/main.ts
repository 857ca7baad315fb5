import { inspect, parseArgs } from "node:util";
import type { Outcome } from "./figures.ts";
import { chooseSeed, runScenario } from "./run-scenario.ts";
import { LONG } from "./scenarios/index.ts";

const HELP = `pnpm faults [--minutes N] [--only name,name] [--rate N] [--seed S] [--json]

  --minutes  duration of each scenario without a fixed one (default 2)
  --only     scenarios to run: ${LONG.map(({ scenario }) => scenario.name).join(", ")}
  --rate     queries per second, streams or rounds, depending on the scenario
  --seed     repeats the random choices of a run that printed it (also PATCHBAY_FAULT_SEED)
  --json     one JSON object with all figures on stdout at the end`;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "2" },
    only: { type: "string" },
    rate: { type: "string" },
    seed: { type: "string" },
    json: { type: "boolean", default: false },
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

const seed = values.seed === undefined ? chooseSeed() : Number(values.seed);
const outcomes: Record<string, Outcome> = {};
for (const { scenario, terms } of LONG.filter(({ scenario }) => wanted?.includes(scenario.name) ?? true)) {
  const size = values.rate === undefined ? terms.rate : Number(values.rate);
  const long = { seconds: 60 * Number(values.minutes), ...terms, rate: size };
  outcomes[scenario.name] = await runScenario(scenario, { ...long, seed }).catch((error: unknown) => {
    const shown = inspect(error);
    process.stderr.write(`fault-lab ${scenario.name}: failed: ${shown}\n`);
    return { figures: { seed }, violations: [`the scenario failed: ${shown}`] };
  });
}
if (values.json) process.stdout.write(`${JSON.stringify(outcomes)}\n`);
process.exit(Object.values(outcomes).some(({ violations }) => violations.length > 0) ? 1 : 0);
