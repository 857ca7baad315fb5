import { InvalidArgumentError, type Option } from "commander";
import type { AdminOptions } from "../administer.ts";
import {
  agentOption,
  databaseOption,
  dataDirOption,
  jsonOption,
  option,
  type OptionsOf,
  type Parsed,
  parseCount,
  parseList,
  parseUrl,
  parseWithin,
} from "../../options.ts";

/** What `access` does besides the table and the lock: each is a flag, and a subcommand. */
export const MODES = {
  search: "search calls whose decisions no case shows",
  mutants: "make small changes to the authorize code, and show which ones no case finds",
  attack: "attack the functions as each role; exit 1 on any finding",
  explain: "show which rule decides a call",
  "what-if": "judge an agent's stored calls; exit 1 if a refused one would be allowed",
  unused: "show which roles did not use their functions, from the audit log",
  review: "write a change of access since a git revision as Markdown; exit 1 if it needs a decision",
  evidence: "write what an auditor re-checks into a new folder; exit 1 on any finding",
};

export type Mode = keyof typeof MODES;

export const MODE_NAMES = Object.keys(MODES) as Mode[];

/** The values that modes need: of the flag, and an argument of the subcommand. */
export const VALUES: Partial<Record<Mode, { name: string; description: string }>> = {
  explain: { name: "function", description: "the call to explain, by the name of its function" },
  evidence: { name: "dir", description: "folder for the files, new or empty" },
};

const seed = (text: string) => parseWithin(text, 0, 2 ** 32 - 1, "expected a whole number from 0 to 4294967295");

interface ModeOption {
  modes: Mode[];
  made: Option;
  /** What else the flag form does with it. */
  alone?: string;
}

const modeOptions = () =>
  [
    { modes: ["explain"], made: option("--role <role>", "the query's role") },
    { modes: ["explain"], made: option("--input <json>", "the call's arguments") },
    { modes: ["explain", "attack"], made: option("--context <json>", "the query's context") },
    { modes: ["what-if", "review", "unused", "evidence"], made: agentOption("agent, as `agents list` shows its id") },
    {
      modes: ["what-if", "review", "unused", "evidence", "search", "mutants"],
      made: option("--url <url>", "read the records from this service, not from a database", { parse: parseUrl }),
    },
    {
      modes: ["evidence"],
      made: option(
        "--sample <n>",
        "add this many runs of the period, 1 or more, with their whole trace; --seed chooses them",
        {
          parse: parseCount,
        },
      ),
    },
    {
      modes: ["what-if", "review", "unused", "evidence", "search", "mutants"],
      made: option(
        "--service-token <secret>",
        "with --url: has the scope calls:read for what-if, calls:content for --from-runs, else audit:read",
      ),
    },
    {
      modes: ["what-if"],
      made: option("--last <n>", "calls to judge, 1 to 10000", { parse: parseCount, preset: 1_000 }),
    },
    {
      modes: ["what-if"],
      made: option("--base <file>", "the service before the change; where it differs too, the data changed"),
    },
    {
      modes: ["what-if", "review"],
      made: option("--accept <list>", "calls that may be allowed, as function:role,...; * is every role", {
        parse: parseAccepted,
      }),
    },
    {
      modes: ["search", "review"],
      made: option(
        "--against <revision>",
        "search calls that this git revision decides otherwise; exit 1 if access widened",
      ),
      alone: "With --check: the same for functions whose code changed since, in place of a failure",
    },
    { modes: ["search", "mutants"], made: option("--adopt", "write found calls as cases") },
    {
      modes: ["search", "mutants", "review", "evidence"],
      made: option("--seed <number>", "the call seed, 0 to 4294967295 (default: random)", { parse: seed }),
    },
    {
      modes: ["search", "mutants"],
      made: option("--from-runs <agent>", "also try values from the last stored calls of this agent"),
    },
    {
      modes: ["mutants"],
      made: option("--min-killed <percent>", "exit 1 if the cases find a smaller percentage", { parse: parsePercent }),
    },
    {
      modes: ["unused", "evidence"],
      made: option("--since <time>", "since a time, or for the last 24h, 90d", { preset: "90d" }),
    },
    {
      modes: ["unused"],
      made: option("--keep <names>", "roles and functions that stay, such as those for emergencies", {
        parse: parseList,
      }),
    },
    {
      modes: ["unused"],
      made: option("--write-suggestion <file>", "write the suggested role lists as JSON"),
    },
  ] satisfies ModeOption[];

const UNTRIED = "exit 1 if the suite did not try a function or an output";
const strictOption = (description: string) => option("--strict", description);

/** The options for the table and the lock. */
export const lockOptions = () => [
  option("--check", "compare with access.lock.json and access.never.json next to the file; exit 1 on any difference"),
  strictOption(
    `with --check: exit 1 for anonymous calls, and for roles without an allowed or a refused case. With --attack: ${UNTRIED}`,
  ),
  option("--write", "write access.lock.json").conflicts("check"),
  option("--markdown", "print the table as Markdown"),
];

/** All options of `access`, of every mode. */
export type AccessOptions = AdminOptions &
  Parsed<ReturnType<typeof modeOptions>[number]["made"]> &
  OptionsOf<typeof lockOptions> & {
    [Name in ReturnType<typeof attributeOf>]?: Name extends "explain" | "evidence" ? string : true;
  };

/** The flags of all modes, and their options. */
export function flagOptions(): Option[] {
  const flags = MODE_NAMES.map((mode) => {
    const value = VALUES[mode] ? ` <${VALUES[mode].name}>` : "";
    const others = MODE_NAMES.filter((other) => other !== mode).map(attributeOf);
    return option(`--${mode}${value}`, MODES[mode]).conflicts(["check", "write", "markdown", ...others]);
  });
  const own = modeOptions().map(({ modes, made, alone }: ModeOption) => {
    const named = modes.map((mode) => `--${mode}`).join(", ");
    made.description = `with ${named}: ${made.description}${alone === undefined ? "" : `. ${alone}`}`;
    return made;
  });
  return [...flags, ...own, databaseOption(), dataDirOption(), jsonOption()];
}

/** The options of a mode's subcommand. */
export function optionsOf(mode: Mode): Option[] {
  const own = modeOptions().flatMap(({ modes, made }: ModeOption) => (modes.includes(mode) ? [made] : []));
  const readsDatabase = own.some(({ long }) => long === "--agent" || long === "--from-runs");
  const strict = mode === "attack" ? [strictOption(UNTRIED)] : [];
  return [...own, ...strict, ...(readsDatabase ? [databaseOption(), dataDirOption()] : []), jsonOption()];
}

/** The name of a mode's flag among the options. */
export const attributeOf = (mode: Mode) => (mode === "what-if" ? "whatIf" : mode);

function parsePercent(text: string): number {
  const value = Number(text);
  if (!/^\d{1,3}(\.\d+)?$/.test(text) || value > 100) throw new InvalidArgumentError("expected a number from 0 to 100");
  return value;
}

/** A function and a role whose calls may become allowed. */
interface Accepted {
  functionName: string;
  role: string;
}

function parseAccepted(text: string): Accepted[] {
  return text.split(",").map((cell) => {
    const [, functionName, role] = /^\s*([^:\s]+):(.*\S)\s*$/.exec(cell) ?? [];
    if (functionName === undefined || role === undefined)
      throw new InvalidArgumentError("expected function:role, such as refund_order:support");
    return { functionName, role };
  });
}
