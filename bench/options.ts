import { resolve } from "node:path";
import { parseArgs } from "node:util";

export interface Options {
  quick: boolean;
  json: boolean;
  write: boolean;
  fsync: boolean;
  /** Absolute. */
  profile?: string;
  rounds: number;
  only: readonly string[];
}

const HELP = `pnpm bench [options]: Patchbay (A), its floor (B) and the AI SDK (C), in one run

  --quick         CPU time of a query relative to the floor, under a minute; exit 1 when far above the recorded ratio
  --json          one JSON object on standard output
  --only LETTERS  only these systems: --only A, --only AB
  --rounds N      rounds of each system (default 5, quick 2)
  --fsync         only queries a second with an fsync that takes 10 ms (needs strace)
  --profile DIR   a CPU profile of A's server for each round, written when it stops
  --write         write the table to docs/performance.md
`;

/** Prints the help and exits on --help. Throws for unknown options. */
export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args: args.filter((one) => one !== "--"),
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      fsync: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
      profile: { type: "string" },
      rounds: { type: "string" },
      only: { type: "string" },
    },
  });
  const { help, profile, ...flags } = values;
  if (help) {
    process.stdout.write(HELP);
    process.exit(0);
  }
  const rounds = Number(values.rounds ?? (flags.quick ? 2 : 5));
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new Error(`--rounds must be a whole number of at least 1, got ${values.rounds}.`);
  const only = (values.only ?? (flags.quick ? "AB" : "ABC")).toUpperCase();
  if (!/^[ABC]+$/.test(only)) throw new Error(`--only must be letters of A, B and C, got ${only}.`);
  return { ...flags, rounds, only: only.split(""), ...(profile !== undefined && { profile: resolve(profile) }) };
}
