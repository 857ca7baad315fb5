import type { WhatIfChange, WhatIfReport } from "@patchbay/functions/access";
import type { Service } from "@patchbay/functions";
import { CommandFailure } from "@patchbay/loading/failure";
import { oneLine, print, printJson } from "../../output.ts";
import { findServiceFile, loadService } from "../../service-file.ts";
import { table } from "../../table.ts";
import type { AccessOptions } from "./options.ts";
import { withCalls } from "./records.ts";

/** The role in --accept and in the output for a query without a role. */
export const NO_ROLE = "none";
const EVERY = "*";

/** Judges an agent's last calls by a service file. Reads the database and writes nothing. */
export async function whatIf(path: string, service: Service, options: AccessOptions): Promise<void> {
  const { agent, base, json } = options;
  if (agent === undefined) throw new CommandFailure("--what-if needs the agent whose calls it judges: --agent ID.");
  const { report, changes, refused } = await judgeCalls(path, service, { ...options, agent });
  if (json) printJson({ ok: refused.length === 0 && report.undecided === 0, ...report, changes });
  else print(shown({ ...report, changes }, { isCompared: base !== undefined }));
  if (refused.length === 0 && report.undecided > 0)
    throw new CommandFailure(
      `${report.undecided === 1 ? "One call was" : `${report.undecided} calls were`} not decided in time, so nothing is known of ${report.undecided === 1 ? "it" : "them"}. Give authorize more time with timeoutMs, or repeat the command.`,
    );
  if (refused.length === 0) return;
  const calls = refused.reduce((sum, change) => sum + change.calls, 0);
  const cells = [...new Set(refused.map(({ functionName, role }) => `${functionName}:${role ?? NO_ROLE}`))].join(",");
  throw new CommandFailure(
    `${calls === 1 ? "One call" : `${calls} calls`} would be allowed, or approved by others, that ${calls === 1 ? "was" : "were"} not. If intended, run with --accept ${cells}`,
  );
}

/** An agent's last calls as the service decides them. `refused`: the wider ones that --accept does not list. */
export async function judgeCalls(path: string, service: Service, options: AccessOptions & { agent: string }) {
  const { agent, base: baseFile, accept = [] } = options;
  const base = baseFile === undefined ? undefined : await loadBase(path, service, baseFile);
  const { whatIf: judge } = await import("@patchbay/functions/access");
  const flows = [service, ...(base ? [base] : [])].map(({ manifest }) => manifest);
  const report = await withCalls(service, options, agent, (calls) => judge(service, calls, { base }), { flows });
  if (report.calls > 0 && report.otherServices === report.calls)
    throw new CommandFailure(
      `None of the last ${report.calls} calls of ${agent} is one of the service ${service.manifest.name}. Check --agent and the name of the service.`,
    );
  const isAccepted = ({ functionName, role }: WhatIfChange): boolean =>
    accept.some((cell) => cell.functionName === functionName && [EVERY, role ?? NO_ROLE].includes(cell.role));
  const changes = report.changes.map((is): JudgedChange => ({ ...is, accepted: isWider(is) && isAccepted(is) }));
  return { report, changes, refused: changes.filter((change) => isWider(change) && !change.accepted) };
}

async function loadBase(path: string, service: Service, file: string): Promise<Service> {
  const basePath = findServiceFile(file);
  if (basePath === path) return service;
  const base = await loadService(basePath);
  const [name, own] = [base.manifest.name, service.manifest.name];
  if (name !== own) throw new CommandFailure(`${basePath} defines the service ${name}, and ${path} ${own}.`);
  return base;
}

export type JudgedChange = WhatIfChange & { accepted: boolean };

const isWider = ({ kind }: WhatIfChange): boolean => kind === "allow" || kind === "ask";

export const WORDS = { allow: "would allow", ask: "would ask others", show: "would show", deny: "would deny" } as const;

const FLOW_WORDS = { allowed: "would report", approval: "would ask", denied: "would deny" } as const;

function shown(
  report: Omit<WhatIfReport, "changes"> & { changes: JudgedChange[] },
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
    flows,
    unreplayed,
    service,
  } = report;
  const rows = changes.map(({ kind, accepted, functionName, role, was, is, examples, calls }) => [
    accepted ? "accepted" : WORDS[kind],
    String(calls),
    functionName,
    role ?? NO_ROLE,
    kind === "show" ? is : `${was} → ${is}`,
    examples[0]?.runId ?? "",
  ]);
  const listed = table(["change", "calls", "function", "role", "decision or member", "newest run"], rows, "");
  const flowRows = flows.map((one) => [FLOW_WORDS[one.decision], String(one.calls), one.functionName, one.rule]);
  const ruled = table(["data flow", "calls", "function", "rule"], flowRows, "");
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
    ...(ruled === "" ? [] : [ruled, ""]),
    calls === 0 ? "No stored calls." : `${calls} calls: ${parts.join("; ")}.`,
    ...(unreplayed === 0
      ? []
      : [
          "The data-flow rules were not replayed: run the command on the database, or connect this file with `patchbay connect FILE --shadow`.",
        ]),
    ...(roles === ""
      ? []
      : [
          `Queries without a role had the default role ${roles}. ${service} has another one, with which they are judged.`,
        ]),
    ...(isCompared || changed === 0
      ? []
      : ["Without --base FILE, records that changed since count as changes of the service."]),
  ].join("\n");
}
