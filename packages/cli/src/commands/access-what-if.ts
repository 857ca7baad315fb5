import type { WhatIfChange, WhatIfReport } from "@patchbay/functions/access";
import type { Service } from "@patchbay/functions";
import { type Command, InvalidArgumentError } from "commander";
import { databaseUrl, type DatabaseOptions, requireDatabase } from "../database.ts";
import { CommandFailure } from "../failure.ts";
import { agentOption, databaseOption, dataDirOption, option, parseCount } from "../options.ts";
import { oneLine, print, printJson } from "../output.ts";
import { findServiceFile, loadService } from "../service-file.ts";
import { table } from "../table.ts";

export interface WhatIfOptions extends DatabaseOptions {
  whatIf?: true;
  agent?: string;
  last: number;
  base?: string;
  accept?: Accepted[];
  json?: true;
}

/** Calls of a function by a role that may be allowed from now on. */
interface Accepted {
  functionName: string;
  role: string;
}

/** The role in --accept and in the output for a query without a role. */
const NO_ROLE = "none";
const EVERY = "*";

const WITH = "with --what-if:";

/** The options of `access --what-if`. */
export function addWhatIfOptions(command: Command): void {
  command
    .addOption(
      option("--what-if", "judge the stored calls of an agent; exit 1 if a refused one would be allowed").conflicts([
        "check",
        "write",
        "markdown",
        "attack",
        "explain",
      ]),
    )
    .addOption(agentOption("with --what-if, --unused, --evidence: agent, as `agents list` shows its id"))
    .addOption(option("--last <n>", `${WITH} calls to judge, 1 to 10000`).argParser(parseCount).default(1_000))
    .addOption(option("--base <file>", `${WITH} the service before the change; where it differs too, the data changed`))
    .addOption(
      option(
        "--accept <list>",
        `${WITH} calls that may be allowed, as function:role,...; ${EVERY} is every role`,
      ).argParser(parseAccepted),
    )
    .addOption(databaseOption())
    .addOption(dataDirOption());
}

function parseAccepted(text: string): Accepted[] {
  return text.split(",").map((one) => {
    const [, functionName, role] = /^\s*([^:\s]+):(.*\S)\s*$/.exec(one) ?? [];
    if (functionName === undefined || role === undefined)
      throw new InvalidArgumentError("expected function:role, such as refund_order:support");
    return { functionName, role };
  });
}

/** Judges the last calls of an agent by the service of a file. Reads the database and writes nothing. */
export async function whatIf(path: string, service: Service, options: WhatIfOptions): Promise<void> {
  const { agent, last, base: baseFile, accept = [], json } = options;
  if (agent === undefined) throw new CommandFailure("--what-if needs the agent whose calls it judges: --agent ID.");
  requireDatabase(options, { mayCreate: false });
  const base = baseFile === undefined ? undefined : await loadBase(path, service, baseFile);
  const { whatIf: judge } = await import("@patchbay/functions/access");
  const { createAdmin, openStore } = await import("@patchbay/control-plane/admin");
  await using opened = new AsyncDisposableStack();
  const store = opened.adopt(await openStore(databaseUrl(options)), (one) => one.close());
  const report = await judge(service, createAdmin({ store }).storedCalls(agent, last), { base });
  if (report.calls > 0 && report.otherServices === report.calls)
    throw new CommandFailure(
      `None of the last ${report.calls} calls of ${agent} is one of the service ${service.manifest.name}. Check --agent and the name of the service.`,
    );
  const isAccepted = ({ functionName, role }: WhatIfChange): boolean =>
    accept.some((one) => one.functionName === functionName && (one.role === EVERY || one.role === (role ?? NO_ROLE)));
  const changes = report.changes.map((one): Change => ({ ...one, accepted: one.kind === "allow" && isAccepted(one) }));
  const refused = changes.filter((one) => one.kind === "allow" && !one.accepted);
  const ok = refused.length === 0 && report.undecided === 0;
  if (json) printJson({ ok, ...report, changes });
  else print(shown({ ...report, changes }, { isCompared: base !== undefined }));
  if (refused.length === 0 && report.undecided > 0)
    throw new CommandFailure(
      `${report.undecided === 1 ? "One call was" : `${report.undecided} calls were`} not decided in time, so nothing is known of ${report.undecided === 1 ? "it" : "them"}. Give authorize more time with timeoutMs, or repeat the command.`,
    );
  if (refused.length === 0) return;
  const calls = refused.reduce((sum, one) => sum + one.calls, 0);
  const cells = [...new Set(refused.map(({ functionName, role }) => `${functionName}:${role ?? NO_ROLE}`))].join(",");
  throw new CommandFailure(
    `${calls === 1 ? "One call" : `${calls} calls`} would be allowed that ${calls === 1 ? "was" : "were"} not. If intended, run with --accept ${cells}`,
  );
}

async function loadBase(path: string, service: Service, file: string): Promise<Service> {
  const basePath = findServiceFile(file);
  if (basePath === path) return service;
  const base = await loadService(basePath);
  const [name, own] = [base.manifest.name, service.manifest.name];
  if (name !== own) throw new CommandFailure(`${basePath} defines the service ${name}, and ${path} ${own}.`);
  return base;
}

type Change = WhatIfChange & { accepted: boolean };

const WORDS = { allow: "would allow", show: "would show", deny: "would deny" } as const;

function shown(
  report: Omit<WhatIfReport, "changes"> & { changes: Change[] },
  { isCompared }: { isCompared: boolean },
): string {
  const {
    calls,
    unchanged,
    changed,
    drifted,
    otherServices,
    unjudged,
    undecided,
    otherDefaultRoles,
    changes,
    service,
  } = report;
  const rows = changes.map(({ kind, accepted, functionName, role, was, is, examples, ...one }) => [
    accepted ? "accepted" : WORDS[kind],
    String(one.calls),
    functionName,
    role ?? NO_ROLE,
    kind === "show" ? is : `${was} → ${is}`,
    examples[0]?.runId ?? "",
  ]);
  const listed = table(["change", "calls", "function", "role", "decision or member", "newest run"], rows, "");
  const counts: [number, string][] = [
    [unchanged, "unchanged"],
    [changed, "changed"],
    [drifted, "drifted: the base decides differently today too"],
    [unjudged, "not judged: they have no stored decision"],
    [undecided, "not decided in time"],
    [otherServices, "of other services"],
  ];
  const parts = counts.filter(([count], i) => i < 2 || count > 0).map(([count, what]) => `${count} ${what}`);
  const roles = otherDefaultRoles.map((role) => (role === null ? "none" : oneLine(role))).join(", ");
  return [
    ...(listed === "" ? [] : [listed, ""]),
    calls === 0 ? "No stored calls." : `${calls} calls: ${parts.join("; ")}.`,
    ...(roles === ""
      ? []
      : [`Queries without a role had the default role ${roles}, and are judged with it. ${service} has another one.`]),
    ...(isCompared || changed === 0
      ? []
      : ["Without --base FILE, records that changed since count as changes of the service."]),
  ].join("\n");
}
