import type { AccessExplanation, AccessLock, AccessMatrix, AccessQuestion } from "@patchbay/functions/access";
import type { Service } from "@patchbay/functions";
import type { Command, Option } from "commander";
import { CommandFailure } from "@patchbay/loading/failure";
import { addOptions, examples } from "../../options.ts";
import { keepStdoutForResults, paint, paintStatus, printJson, print, printStatus } from "../../output.ts";
import { present } from "@patchbay/kit";
import type { CodeSearch } from "./lock.ts";
import { findServiceFile, loadService, refuseExit } from "../../service-file.ts";
import { describeSource, functionSources } from "../pin.ts";
import {
  type AccessOptions,
  attributeOf,
  flagOptions,
  lockOptions,
  type Mode,
  MODE_NAMES,
  MODES,
  optionsOf,
  VALUES,
} from "./options.ts";
import type { Loaded } from "./gaps.ts";

const FILE = "module with the functions (default: service.ts, if it exists)";

export function addAccessCommand(program: Command): void {
  const command = program
    .command("access")
    .description("show which role may call which function, and check it against a lock file")
    .argument("[file]", `${FILE}; a path, such as ./search, if it is named like a subcommand`)
    .action((file: string | undefined, options: AccessOptions) =>
      loadAnd(file, (loaded) => access(loaded, options, requireModes(options))),
    );
  addOptions(command, [...lockOptions(), ...flagOptions()]);
  for (const mode of MODE_NAMES) addSubcommand(command, mode);
  examples(
    command,
    "patchbay access service.ts                                   # the table",
    "patchbay access service.ts --write                           # store it in access.lock.json",
    "patchbay access service.ts --check                           # in CI: fails when access changed",
    "patchbay access search service.ts --against origin/main      # calls that are decided otherwise than there",
    "patchbay access mutants service.ts --min-killed 90           # in CI: fails when the cases test too little",
    "patchbay access attack service.ts                            # try to reach what a role must not reach",
    "patchbay access what-if service.ts --agent agt_... --base ../main/service.ts",
    "patchbay access review service.ts --against origin/main --agent agt_... --url https://queries.example.com > review.md",
    "patchbay access unused service.ts --agent agt_... --since 90d   # rights that no role used",
    "patchbay access evidence service.ts ./evidence --agent agt_...   # files for auditors",
    `patchbay access explain service.ts get_ticket --role staff --input '{"ticketId":"T-100"}'`,
  );
}

/** `access MODE FILE`, which runs the same code as `access FILE --MODE`. */
function addSubcommand(parent: Command, mode: Mode): void {
  const value = VALUES[mode];
  const command = parent.command(mode).description(MODES[mode]);
  if (value) command.argument("<file>", "module with the functions").argument(`<${value.name}>`, value.description);
  else command.argument("[file]", FILE);
  addOptions(command, optionsOf(mode)).action(async () => {
    // Commander gives the options that both have to the parent.
    const isOwn = ({ long }: Option) => command.options.some((own) => own.long === long);
    const other = parent.options.find(
      (given) => parent.getOptionValueSource(given.attributeName()) === "cli" && !isOwn(given),
    );
    if (other) command.error(`error: unknown option '${other.long}'`);
    const [file, text = true] = command.args;
    const options: AccessOptions = { ...command.optsWithGlobals<AccessOptions>(), [attributeOf(mode)]: text };
    await loadAnd(file, (loaded) => access(loaded, options, mode));
  });
}

async function loadAnd(file: string | undefined, run: (loaded: Loaded) => Promise<void>): Promise<void> {
  const path = findServiceFile(file);
  keepStdoutForResults();
  const files = new Set<string>();
  const service = await loadService(path, { onFile: (file) => files.add(file) });
  using _guard = refuseExit(path);
  await run({ path, service, files });
}

/** The mode that the flags name, if any. Throws for options without the flag that they need. */
function requireModes(options: AccessOptions): Mode | undefined {
  const { search, mutants, review, evidence, check, against, adopt, minKilled, seed, fromRuns } = options;
  if (minKilled !== undefined && !mutants) throw new CommandFailure("--min-killed needs --mutants.");
  if (against !== undefined && !search && !check && !review)
    throw new CommandFailure("--against needs --search or --check.");
  if ((adopt || (seed !== undefined && !check && !review && evidence === undefined)) && !search && !mutants)
    throw new CommandFailure(`${adopt ? "--adopt" : "--seed"} needs --search or --mutants.`);
  if (fromRuns !== undefined && !search && !mutants && !check)
    throw new CommandFailure("--from-runs needs --search, --mutants or --check.");
  return MODE_NAMES.find((mode) => options[attributeOf(mode)] !== undefined);
}

async function access(loaded: Loaded, options: AccessOptions, mode: Mode | undefined): Promise<void> {
  const { path, service, files } = loaded;
  if (mode === "explain") return await explain(service, options.explain!, options);
  if (mode === "unused") return await (await import("./unused.ts")).unused(service, options);
  if (mode === "attack") return await attack(service, options);
  if (mode === "what-if") return await (await import("./what-if.ts")).whatIf(path, service, options);
  // This loads a JavaScript parser, which no other command needs.
  const { findUntested, showAdequacy } = await import("./gaps.ts");
  const { search, searchChangedCode } = await import("./search.ts");
  if (mode === "search") return await search(loaded, options);
  if (mode === "mutants") return await showAdequacy(loaded, options);
  const { accessMatrix } = await import("@patchbay/functions/access");
  const matrix = await accessMatrix(service);
  if (!options.check && !options.write && mode === undefined) return await show(path, matrix, options);
  const lock = await currentLock(service, matrix, files);
  const { checkLock, saveLock } = await import("./lock.ts");
  if (options.write) return await saveLock(path, lock, options);
  if (mode === "evidence") {
    const { writeEvidence } = await import("./evidence.ts");
    return await writeEvidence({ ...loaded, matrix, lock }, options);
  }
  if (mode === "review") {
    const { review } = await import("./review.ts");
    return await review(loaded, lock, options);
  }
  const { against } = options;
  const searchCode: CodeSearch | undefined =
    against === undefined ? undefined : (asked) => searchChangedCode(loaded, { ...options, against }, asked);
  await checkLock(path, lock, { ...options, searchCode, untested: () => findUntested(loaded, options) });
}

async function show(path: string, matrix: AccessMatrix, { json, markdown }: AccessOptions): Promise<void> {
  const sources = await functionSources();
  const { mcpServers, apis } = Object.groupBy(sources, ({ kind }) => (kind === "API" ? "apis" : "mcpServers"));
  const listed = (some: typeof sources | undefined) =>
    some?.map(({ name, lockFile }) => ({ name, pinned: lockFile !== undefined }));
  if (json) return printJson({ ...matrix, ...present({ mcpServers: listed(mcpServers), apis: listed(apis) }) });
  const { renderMatrix } = await import("@patchbay/functions/access");
  print(renderMatrix(matrix, { format: markdown ? "markdown" : "text" }));
  if (!markdown && sources.length > 0) print(sources.map(describeSource).join("\n"));
  const { lockFileOf } = await import("./lock.ts");
  const { file, exists } = lockFileOf(path);
  if (!exists) printStatus(paintStatus("dim", `No ${file} yet: store this table with --write, and run --check in CI.`));
}

async function currentLock(service: Service, matrix: AccessMatrix, files: ReadonlySet<string>): Promise<AccessLock> {
  const { lockOf } = await import("@patchbay/functions/access");
  const { fingerprintOf } = await import("@patchbay/access-lab/solve/fingerprint");
  return await lockOf(service, { matrix, fingerprint: fingerprintOf(service, files) });
}

async function attack(service: Service, options: AccessOptions): Promise<void> {
  const { renderEscalationReport, runEscalationSuite } = await import("@patchbay/functions/testing");
  const context = parseContext(options.context);
  const report = await runEscalationSuite(service, { ...(context && { context }) });
  if (options.json) printJson(report);
  else print(renderEscalationReport(report));
  const { length: count } = report.findings;
  if (count > 0) throw new CommandFailure(count === 1 ? "1 finding." : `${count} findings.`);
  if (options.strict && report.notes.length > 0)
    throw new CommandFailure(
      `The attacks did not reach ${report.notes.length === 1 ? "one function or output" : `${report.notes.length} functions or outputs`}. Declare the cases that the notes name.`,
    );
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

function describe({ decision, rule, sentence, hides, flow = [] }: AccessExplanation): string {
  const head = `${paint(COLOURS[decision], decision)} (rule: ${rule})`;
  const removed = hides.length === 0 ? [] : [`Removed from the result for this role: ${hides.join(", ")}.`];
  const ruled = flow.map(({ rule, needs, sources }) => {
    const after = sources.length > 0 ? `after ${sources.join(", ")}, ` : "";
    return `flow rule ${rule}: ${after}${needs}`;
  });
  return [head, sentence, ...removed, ...ruled].join("\n");
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
