import { InvalidArgumentError, type Option } from "commander";
import { option, parseWithin } from "../options.ts";

export interface SearchFlags {
  search?: true;
  against?: string;
  adopt?: true;
  seed?: number;
  mutants?: true;
  minKilled?: number;
  check?: true;
  json?: true;
}

const OTHER_MODES = ["check", "write", "markdown", "attack", "explain", "whatIf", "unused", "evidence"];

/** The options of `patchbay access` that search calls. */
export function searchOptions(): Option[] {
  const seed = (text: string) => parseWithin(text, 0, 2 ** 32 - 1, "expected a whole number from 0 to 4294967295");
  return [
    option("--search", "search calls whose decisions no case shows").conflicts([...OTHER_MODES, "mutants"]),
    option(
      "--against <revision>",
      "with --search: search calls that this git revision decides otherwise; exit 1 if access widened. With --check: search so for functions whose code changed since, in place of a failure",
    ),
    option("--adopt", "with --search and --mutants: write the calls that are found as cases"),
    option(
      "--seed <number>",
      "with --search and --mutants: the seed of the calls, 0 to 4294967295 (default: random)",
    ).argParser(seed),
    option("--mutants", "change the code of authorize in small ways, and show which changes no case finds").conflicts(
      OTHER_MODES,
    ),
    option("--min-killed <percent>", "with --mutants: exit 1 if the cases find fewer of the changes").argParser(
      parsePercent,
    ),
  ];
}

function parsePercent(text: string): number {
  const value = Number(text);
  if (!/^\d{1,3}(\.\d+)?$/.test(text) || value > 100) throw new InvalidArgumentError("expected a number from 0 to 100");
  return value;
}
