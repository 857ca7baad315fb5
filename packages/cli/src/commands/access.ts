import type { AccessExplanation, AccessLock, AccessMatrix, AccessQuestion } from "@patchbay/functions/access";
import type { Service } from "@patchbay/functions";
import type { Command } from "commander";
import { CommandFailure } from "../failure.ts";
import { examples, jsonOption, option } from "../options.ts";
import { keepStdoutForResults, paint, paintStatus, printJson, print, printStatus } from "../output.ts";
import { checkLock, lockFileOf, saveLock } from "./access-lock.ts";
import type { EvidenceOptions } from "./access-evidence.ts";
import { addUnusedOptions, unused, type UnusedOptions } from "./access-unused.ts";
import { addWhatIfOptions, whatIf, type WhatIfOptions } from "./access-what-if.ts";
import { findServiceFile, loadService, refuseExit } from "../service-file.ts";
import { describeSource, functionSources } from "./pin.ts";
import { type SearchFlags, searchOptions } from "./search-options.ts";

interface AccessOptions extends WhatIfOptions, SearchFlags, UnusedOptions, EvidenceOptions {
  markdown?: true;
  check?: true;
  write?: true;
  strict?: true;
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
    .addOption(
      option(
        "--check",
        "compare with access.lock.json and access.never.json next to the file; exit 1 on any difference",
      ),
    )
    .addOption(option("--strict", "with --check: exit 1 for a conditional function without a refused case"))
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
  addWhatIfOptions(command);
  for (const one of searchOptions()) command.addOption(one);
  addUnusedOptions(command);
  // Its agent and its time are those of --unused.
  command.addOption(
    option("--evidence <dir>", "write what an auditor re-checks into a new folder; exit 1 on any finding").conflicts([
      "check",
      "write",
      "markdown",
      "attack",
      "explain",
      "unused",
      "whatIf",
    ]),
  );
  examples(
    command,
    "patchbay access service.ts                                   # the table",
    "patchbay access service.ts --write                           # store it in access.lock.json",
    "patchbay access service.ts --check                           # in CI: fails when access changed",
    "patchbay access service.ts --search --against origin/main    # calls that are decided otherwise than there",
    "patchbay access service.ts --mutants --min-killed 90         # in CI: fails when the cases test too little",
    "patchbay access service.ts --attack                          # try to reach what a role must not reach",
    "patchbay access service.ts --what-if --agent agt_... --base ../main/service.ts",
    "patchbay access service.ts --unused --agent agt_... --since 90d   # rights that no role used",
    "patchbay access service.ts --evidence ./evidence --agent agt_...   # files for auditors",
    `patchbay access service.ts --explain get_ticket --role staff --input '{"ticketId":"T-100"}'`,
  );
}

async function access(file: string | undefined, options: AccessOptions): Promise<void> {
  const path = findServiceFile(file);
  keepStdoutForResults();
  const files = new Set<string>();
  const service = await loadService(path, { onFile: (file) => files.add(file) });
  using _guard = refuseExit(path);
  // With a parser of JavaScript, which no other command needs.
  const { search, searchChangedCode } = await import("./access-search.ts");
  if (await search({ path, service, files }, options)) return;
  if (options.explain !== undefined) return await explain(service, options.explain, options);
  if (options.unused) return await unused(service, options);
  if (options.attack) return await attack(service, options);
  if (options.whatIf) return await whatIf(path, service, options);
  const { accessMatrix } = await import("@patchbay/functions/access");
  const matrix = await accessMatrix(service);
  if (options.check) {
    const { against } = options;
    const lock = await currentLock(service, matrix, files);
    if (against === undefined) return await checkLock(path, lock, options);
    const loaded = { path, service, files };
    return await checkLock(path, lock, {
      ...options,
      searchCode: (asked) => searchChangedCode(loaded, { ...options, against }, asked),
    });
  }
  if (options.evidence !== undefined) {
    const { writeEvidence } = await import("./access-evidence.ts");
    const lock = await currentLock(service, matrix, files);
    return await writeEvidence({ path, service, files, matrix, lock }, options);
  }
  if (options.write) return await saveLock(path, await currentLock(service, matrix, files), options);
  await show(path, matrix, options);
}

async function show(path: string, matrix: AccessMatrix, { json, markdown }: AccessOptions): Promise<void> {
  const sources = await functionSources();
  const servers = sources.map(({ name, lockFile }) => ({ name, pinned: lockFile !== undefined }));
  if (json) return printJson({ ...matrix, ...(servers.length > 0 && { mcpServers: servers }) });
  const { renderMatrix } = await import("@patchbay/functions/access");
  print(renderMatrix(matrix, { format: markdown ? "markdown" : "text" }));
  if (!markdown && sources.length > 0) print(sources.map(describeSource).join("\n"));
  const { file, exists } = lockFileOf(path);
  if (!exists) printStatus(paintStatus("dim", `No ${file} yet: store this table with --write, and run --check in CI.`));
}

async function currentLock(service: Service, matrix: AccessMatrix, files: ReadonlySet<string>): Promise<AccessLock> {
  const { lockOf } = await import("@patchbay/functions/access");
  const { fingerprintOf } = await import("../code/fingerprint.ts");
  return await lockOf(service, { matrix, fingerprint: fingerprintOf(files) });
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

const COLOURS = { allowed: "green", approval: "yellow", denied: "red", depends: "yellow" } as const;

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
