import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type {
  AccessChange,
  AccessExplanation,
  AccessLock,
  AccessMatrix,
  AccessQuestion,
} from "@patchbay/functions/access";
import type { Service } from "@patchbay/functions";
import type { Command } from "commander";
import { CommandFailure, reasonOf } from "../failure.ts";
import { examples, jsonOption, option } from "../options.ts";
import { keepStdoutForResults, paint, paintStatus, printJson, print, printStatus } from "../output.ts";
import { findServiceFile, loadService, refuseExit } from "../service-file.ts";

interface AccessOptions {
  markdown?: true;
  check?: true;
  write?: true;
  attack?: true;
  explain?: string;
  role?: string;
  input?: string;
  context?: string;
  json?: true;
}

export function addAccessCommand(program: Command): void {
  const command = program
    .command("access")
    .description("show which role may call which function, and check it against a lock file")
    .argument("[file]", "module with the functions (default: service.ts, if it exists)")
    .addOption(option("--check", "compare with access.lock.json next to the file; exit 1 on any difference"))
    .addOption(option("--write", "write access.lock.json").conflicts("check"))
    .addOption(option("--markdown", "print the table as Markdown"))
    .addOption(
      option("--attack", "attack the functions as each role; exit 1 on any finding").conflicts([
        "check",
        "write",
        "markdown",
        "explain",
      ]),
    )
    .addOption(
      option("--explain <function>", "show which rule decides a call").conflicts(["check", "write", "markdown"]),
    )
    .addOption(option("--role <role>", "with --explain: the role of the query"))
    .addOption(option("--input <json>", "with --explain: the arguments of the call"))
    .addOption(option("--context <json>", "with --explain and --attack: the context of the query"))
    .addOption(jsonOption())
    .action(access);
  examples(
    command,
    "patchbay access service.ts                                   # the table",
    "patchbay access service.ts --write                           # store it in access.lock.json",
    "patchbay access service.ts --check                           # in CI: fails when access changed",
    "patchbay access service.ts --attack                          # try to reach what a role must not reach",
    `patchbay access service.ts --explain get_ticket --role staff --input '{"ticketId":"T-100"}'`,
  );
}

async function access(file: string | undefined, options: AccessOptions): Promise<void> {
  const path = findServiceFile(file);
  keepStdoutForResults();
  const service = await loadService(path);
  using _guard = refuseExit(path);
  if (options.explain !== undefined) return await explain(service, options.explain, options);
  if (options.attack) return await attack(service, options);
  const { accessMatrix } = await import("@patchbay/functions/access");
  const matrix = await accessMatrix(service);
  if (options.check) return await check(path, matrix, options);
  if (options.write) return await write(path, matrix, options);
  await show(path, matrix, options);
}

async function show(path: string, matrix: AccessMatrix, { json, markdown }: AccessOptions): Promise<void> {
  if (json) return printJson(matrix);
  const { renderMatrix } = await import("@patchbay/functions/access");
  print(renderMatrix(matrix, { format: markdown ? "markdown" : "text" }));
  const { file, exists } = lockFileOf(path);
  if (!exists) printStatus(paintStatus("dim", `No ${file} yet: store this table with --write, and run --check in CI.`));
}

async function write(path: string, matrix: AccessMatrix, { json }: AccessOptions): Promise<void> {
  const { file, changes } = await saveLock(path, matrix);
  if (json) return printJson({ file, functions: matrix.functions.length, changes });
  for (const change of changes) print(line(change));
  print(`Wrote ${file}.`);
}

async function check(path: string, matrix: AccessMatrix, { json }: AccessOptions): Promise<void> {
  const { compareAccess } = await import("@patchbay/functions/access");
  const { file, lock } = await readLock(path);
  const changes = compareAccess(lock, matrix);
  if (json) printJson({ ok: changes.length === 0, file, changes });
  else if (changes.length === 0) print(`Access matches ${file}.`);
  else print(changes.map(line).join("\n"));
  if (changes.length === 0) return;
  const count = changes.length === 1 ? "One difference" : `${changes.length} differences`;
  throw new CommandFailure(`${count} from ${file}. If intended, run with --write and commit the file.`);
}

function line({ kind, sentence }: AccessChange): string {
  return `${kind === "widening" ? paint("red", "widening ") : paint("yellow", "narrowing")}  ${sentence}`;
}

async function attack(service: Service, options: AccessOptions): Promise<void> {
  const { renderEscalationReport, runEscalationSuite } = await import("@patchbay/functions/testing");
  const context = parseContext(options.context);
  const report = await runEscalationSuite(service, { ...(context && { context }) });
  if (options.json) printJson(report);
  else print(renderEscalationReport(report));
  const { length: count } = report.findings;
  if (count > 0) throw new CommandFailure(count === 1 ? "1 finding." : `${count} findings.`);
}

async function explain(service: Service, functionName: string, options: AccessOptions): Promise<void> {
  const { explainAccess } = await import("@patchbay/functions/access");
  const question: AccessQuestion = {
    functionName,
    role: options.role,
    input: parseJsonOption("--input", options.input),
    context: parseContext(options.context),
  };
  const explanation = await explainAccess(service, question);
  if (options.json) printJson(explanation);
  else print(describe(explanation));
}

const COLOURS = { allowed: "green", denied: "red", depends: "yellow" } as const;

function describe({ decision, rule, sentence, hides }: AccessExplanation): string {
  const head = `${paint(COLOURS[decision], decision)} (rule: ${rule})`;
  const removed = hides.length === 0 ? [] : [`Removed from the result for this role: ${hides.join(", ")}.`];
  return [head, sentence, ...removed].join("\n");
}

function parseContext(text: string | undefined): AccessQuestion["context"] {
  const value = parseJsonOption("--context", text);
  if (value === undefined) return undefined;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new CommandFailure("--context must be a JSON object.");
}

function parseJsonOption(name: string, text: string | undefined): AccessQuestion["input"] {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as AccessQuestion["input"];
  } catch {
    throw new CommandFailure(`${name} must be JSON, got ${text}`);
  }
}

const LOCK_NAME = "access.lock.json";

/** The lock file of a service file, relative to the working folder when it is below it. */
function lockFileOf(servicePath: string): { file: string; exists: boolean } {
  const path = join(dirname(servicePath), LOCK_NAME);
  const near = relative(process.cwd(), path);
  return { file: near.startsWith("..") ? path : near, exists: existsSync(path) };
}

/** Reads the lock next to a service file. Throws with a fix when it is missing or malformed. */
async function readLock(servicePath: string): Promise<{ file: string; lock: AccessLock }> {
  const { file, exists } = lockFileOf(servicePath);
  if (!exists) throw new CommandFailure(`No ${file} to compare with. Create it with --write and commit it.`);
  const { parseLock } = await import("@patchbay/functions/access");
  try {
    return { file, lock: parseLock(await readFile(file, "utf8")) };
  } catch (error) {
    throw new CommandFailure(
      `${file} is not an access lock: ${reasonOf(error)}. Restore it, or replace it with --write.`,
    );
  }
}

/** Writes the lock; resolves with the changes since the previous one, none when that was missing or malformed. */
async function saveLock(servicePath: string, matrix: AccessMatrix): Promise<{ file: string; changes: AccessChange[] }> {
  const { compareAccess, lockOf, writeLock } = await import("@patchbay/functions/access");
  const before = await readLock(servicePath).catch(() => undefined);
  const { file } = lockFileOf(servicePath);
  await writeFile(file, writeLock(lockOf(matrix)));
  return { file, changes: before === undefined ? [] : compareAccess(before.lock, matrix) };
}
