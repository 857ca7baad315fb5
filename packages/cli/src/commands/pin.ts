import type { Drift, FunctionSource } from "@patchbay/functions/sources";
import type { Command } from "commander";
import { CommandFailure } from "@patchbay/loading/failure";
import { examples, option } from "../options.ts";
import { keepStdoutForResults, oneLine, paint, print } from "../output.ts";
import { findServiceFile, loadService, nearPath, refuseExit } from "../service-file.ts";
import { askLine } from "../terminal.ts";

export function addPinCommand(program: Command): void {
  const command = program
    .command("pin")
    .description("show how a service's MCP servers and APIs differ from their lock files, and accept it")
    .argument("[file]", "module with the functions (default: service.ts, if it exists)")
    .addOption(option("--yes", "write the lock files without asking"))
    .action(pin);
  examples(
    command,
    "patchbay pin service.ts            # show the difference, ask, and write the lock files",
    "patchbay pin service.ts --yes      # write them without asking",
  );
}

async function pin(file: string | undefined, { yes }: { yes?: true }): Promise<void> {
  const path = findServiceFile(file);
  keepStdoutForResults();
  const sources = await loadSources(path);
  using _guard = refuseExit(path);
  const differing = sources
    .map((source) => ({ source, drift: source.drift() }))
    .filter(({ drift }) => drift.length > 0);
  if (differing.length === 0) {
    const locked = sources.filter(({ lockFile }) => lockFile !== undefined);
    if (locked.length === 0)
      throw new CommandFailure(
        `No MCP server and no API of ${path} has a lock file. Give mcpFunctions() or openapiFunctions() the option lock: "tools.lock.json".`,
      );
    return print(locked.map(describeSource).join("\n"));
  }
  print(differing.flatMap(({ drift }) => drift.map(describeDrift)).join("\n"));
  if (!yes && !(await confirm())) throw new CommandFailure("Nothing was written. Accept the difference with --yes.");
  for (const { source } of differing) await source.pin();
  print(`Wrote ${[...new Set(differing.map(({ source }) => nearPath(source.lockFile!)))].join(", ")}.`);
}

/** Asks on a terminal. Anything but "y" and "yes" declines, and so does a program. */
async function confirm(): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return false;
  const answer = await askLine("Accept these definitions? [y/N] ", process.stderr, new AbortController().signal);
  return answer !== undefined && /^y(es)?$/i.test(answer);
}

async function loadSources(path: string): Promise<readonly FunctionSource[]> {
  await loadService(path);
  return await functionSources();
}

/** The MCP servers and APIs in the service that this process has loaded. */
export async function functionSources(): Promise<readonly FunctionSource[]> {
  const sources = await import("@patchbay/functions/sources");
  return sources.functionSources();
}

/** One line on whether a server's definitions are pinned. */
export function describeSource({ kind = "MCP server", name, lockFile }: FunctionSource): string {
  const state = lockFile === undefined ? paint("yellow", "unpinned") : `pinned in ${nearPath(lockFile)}`;
  return `${kind} ${oneLine(name)}  ${state}`;
}

/** The sentence, and the changed members before and after: people read a description before models do. */
function describeDrift({ sentence, before = {}, after = {} }: Drift): string {
  const lines = (members: object, mark: string, style: "red" | "green") =>
    Object.entries(members).map(([name, value]) =>
      paint(style, `  ${mark} ${name}: ${oneLine(visible(JSON.stringify(value)))}`),
    );
  return [sentence, ...lines(before, "-", "red"), ...lines(after, "+", "green")].join("\n");
}

/** Unicode format characters are invisible, and a model reads them. */
const visible = (text: string): string =>
  text.replaceAll(/\p{Cf}/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
