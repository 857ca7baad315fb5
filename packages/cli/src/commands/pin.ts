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

/** The sentence, and what people read before models do: what changed, or the texts of a definition that is on one side only. */
function describeDrift({ sentence, before, after }: Drift): string {
  const [old, current] = [leavesOf(before ?? {}), leavesOf(after ?? {})];
  const isOneSided = before === undefined || after === undefined;
  const lines = (leaves: Leaves, others: Leaves, mark: string, style: "red" | "green") =>
    [...leaves]
      .filter(([path, text]) => (isOneSided ? isRead(path, leaves) : others.get(path) !== text))
      .map(([path, text]) => paint(style, oneLine(`  ${mark} ${visible(path)}: ${visible(text)}`)));
  const unread = isOneSided ? UNREAD.filter((member) => member in { ...before, ...after }) : [];
  return [
    sentence,
    ...lines(old, current, "-", "red"),
    ...lines(current, old, "+", "green"),
    ...(unread.length > 0 ? [`  not shown: ${unread.join(", ")}`] : []),
  ].join("\n");
}

/** Single values and lists of these, as text, by path. */
type Leaves = ReadonlyMap<string, string>;

function leavesOf(value: object): Leaves {
  const leaves = new Map<string, string>();
  const isNested = (part: unknown): part is object =>
    typeof part === "object" &&
    part !== null &&
    Object.values(part).some((inner) => typeof inner === "object" || !Array.isArray(part));
  const add = (parts: object, above: string): void => {
    for (const [name, part] of Object.entries(parts)) {
      const path = `${above}${name}`;
      if (isNested(part)) add(part, `${path}.`);
      else leaves.set(path, JSON.stringify(part));
    }
  };
  add(value, "");
  return leaves;
}

/** Members that no model reads. */
const UNREAD = ["body", "outputSchema", "parameters", "security"];
/** Of an input schema, texts and choices. */
const TEXTS = /\.(title|description|default|const|enum|examples)$/;

function isRead(path: string, leaves: Leaves): boolean {
  if (!path.startsWith("inputSchema.")) return !UNREAD.includes(path.split(".", 1)[0]!);
  // The type shows that a member exists of which nothing else is said.
  return TEXTS.test(path) || (path.endsWith(".type") && !leaves.has(path.replace(/type$/, "description")));
}

/** Unicode format characters are invisible, and a model reads them. */
const visible = (text: string): string =>
  text.replaceAll(/\p{Cf}/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
