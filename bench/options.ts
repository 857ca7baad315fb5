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

const HELP = `pnpm bench [options]: Patchbay (A) beside its floor (B) and the AI SDK (C), in one run

  --quick         CPU time of a query against the floor's, under a minute; exit 1 when it is grossly above what was recorded
  --json          one JSON object on standard output
  --only LETTERS  some of the systems: --only A, --only AB
  --rounds N      rounds of each system (default 5, quick 2)
  --fsync         only queries a second with an fsync that takes 10 ms (needs strace)
  --profile DIR   a CPU profile of A's server for each round, written when it is stopped
  --write         put the table into docs/performance.md
`;

/** Prints the help and ends the process where that is asked for. Throws for options that are none. */
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
  if (values.help) {
    process.stdout.write(HELP);
    process.exit(0);
  }
  const { quick, json, write, fsync } = values;
  const rounds = Number(values.rounds ?? (quick ? 2 : 5));
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds takes a whole number from 1 on");
  const only = (values.only ?? (quick ? "AB" : "ABC")).toUpperCase();
  if (!/^[ABC]+$/.test(only)) throw new Error("--only takes letters out of A, B and C");
  return {
    quick,
    json,
    write,
    fsync,
    rounds,
    only: only.split(""),
    ...(values.profile !== undefined && { profile: resolve(values.profile) }),
  };
}
