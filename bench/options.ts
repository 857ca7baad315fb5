import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { LETTERS, type Letter } from "./system.ts";

export interface Options {
  quick: boolean;
  json: boolean;
  write: boolean;
  fsync: boolean;
  retained: boolean;
  /** A commit, tag or branch to compare with. */
  against?: string;
  /** Absolute. */
  profile?: string;
  rounds: number;
  only: readonly Letter[];
  /** Queries at the same time. */
  at: readonly Concurrency[];
}

/** In the order of measurement. */
export const CONCURRENCIES = [16, 1, 64] as const;
export type Concurrency = (typeof CONCURRENCIES)[number];

const HELP = `pnpm bench [options]: Patchbay and other systems, in one run

  A  Patchbay, embedded database        P  Patchbay on Postgres
  B  its floor                          N  Patchbay on Postgres, two replicas with NATS
  C  the AI SDK                         F  the floor on Postgres
                                        L  LangGraph with its Postgres checkpointer

  --quick         CPU time of a query relative to the floors, and counts of one query, under 2 min; exit 1 when the ratios are
                  far above the recorded ones, or a count differs
  --json          one JSON object on standard output
  --only LETTERS  only these systems: --only A, --only PF
  --at NUMBERS    queries at the same time: --at 1,64 (default 16,1,64; quick 16)
  --rounds N      rounds of each system (default 5, quick 2)
  --fsync         only queries a second with an fsync that takes 10 ms (needs strace)
  --retained      only the cost of a query with 200,000 stored runs, on both engines
  --against REV   only the CPU time of a query of A and P, in alternation with another revision of the repository
  --profile DIR   a CPU profile of Patchbay's server for each round, written when it stops
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
      retained: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
      against: { type: "string" },
      profile: { type: "string" },
      rounds: { type: "string" },
      only: { type: "string" },
      at: { type: "string" },
    },
  });
  const { help, against, profile, ...flags } = values;
  if (help) {
    process.stdout.write(HELP);
    process.exit(0);
  }
  const rounds = Number(values.rounds ?? (flags.quick ? 2 : 5));
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new Error(`--rounds must be a whole number of at least 1, got ${values.rounds}.`);
  const only = (values.only ?? (flags.quick ? "ABPF" : LETTERS.join(""))).toUpperCase().split("");
  const other = only.find((one) => !LETTERS.some((letter) => letter === one));
  if (only.length === 0 || other !== undefined)
    throw new Error(`--only must be letters of ${LETTERS.join("")}, got ${values.only}.`);
  const at = (values.at ?? (flags.quick ? "16" : CONCURRENCIES.join(","))).split(",").map(Number);
  const unknown = at.find((one) => !CONCURRENCIES.some((known) => known === one));
  if (unknown !== undefined) throw new Error(`--at must be numbers of ${CONCURRENCIES.join(", ")}, got ${values.at}.`);
  return {
    ...flags,
    rounds,
    only: LETTERS.filter((letter) => only.includes(letter)),
    at: CONCURRENCIES.filter((one) => at.includes(one)),
    ...(against !== undefined && { against }),
    ...(profile !== undefined && { profile: resolve(profile) }),
  };
}
