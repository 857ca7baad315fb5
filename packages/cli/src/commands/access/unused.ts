import { writeFile } from "node:fs/promises";
import type { Admin } from "@patchbay/control-plane";
import type { Service } from "@patchbay/functions";
import { CommandFailure, reasonOf } from "@patchbay/loading/failure";
import { oneLine, print, printJson } from "../../output.ts";
import { table } from "../../table.ts";
import type { AccessOptions } from "./options.ts";
import { withEvidence } from "./records.ts";

type AccessUse = Awaited<ReturnType<Admin["accessUse"]>>;

/** `access --unused`: compares the file's role lists with the calls in the audit log. Changes no source. */
export async function unused(service: Service, options: AccessOptions): Promise<void> {
  const { agent, since, keep = [], writeSuggestion: file } = options;
  if (agent === undefined) throw new CommandFailure("--unused reads the calls of one agent. Name it with --agent ID.");
  const found = await withEvidence(service, options, { agent, since, keep }, async (parts) => {
    for await (const { content } of parts) return content as AccessUse;
    throw new CommandFailure("The service ended its answer before the rights.");
  });
  if (file !== undefined) await save(file, found);
  if (options.json) printJson(found);
  else print(describe(found, service, file));
}

async function save(file: string, { suggestion }: AccessUse): Promise<void> {
  try {
    await writeFile(file, `${JSON.stringify(suggestion, null, 2)}\n`);
  } catch (error) {
    throw new CommandFailure(`--write-suggestion ${file} cannot be written: ${reasonOf(error)}`);
  }
}

function describe(use: AccessUse, { manifest }: Service, file: string | undefined): string {
  const { rights, denied, since, until } = use;
  const rows = rights.map((right) => [
    right.functionName,
    nameOf(right.role),
    right.from ? `${right.verdict}, via ${oneLine(right.from.join(", "))}` : right.verdict,
    String(right.calls),
    right.lastUsedAt === null ? "never" : dayOf(right.lastUsedAt),
    right.grantedDays === null ? "never connected" : `${right.atLeast ? "at least " : ""}${daysOf(right.grantedDays)}`,
  ]);
  const refused = denied.map(({ functionName, role, rule, calls, lastAt }) => [
    functionName,
    nameOf(role),
    rule,
    String(calls),
    dayOf(lastAt),
  ]);
  return [
    `Calls from ${dayOf(since)} to ${dayOf(until)} of agent ${use.agentId}`,
    "",
    table(["function", "role", "verdict", "calls", "last used", "granted"], rows, "The service has no functions."),
    ...(refused.length === 0 ? [] : ["", "Denied:", table(["function", "role", "rule", "calls", "last"], refused, "")]),
    "",
    ...suggestionLines(use, manifest.functions),
    ...(file === undefined ? [] : [`Wrote ${file}.`]),
  ].join("\n");
}

const nameOf = (role: string | null): string => (role === null ? "(no role)" : oneLine(role));
const dayOf = (iso: string): string => iso.slice(0, 10);
const daysOf = (days: number): string => (days === 1 ? "1 day" : `${days} days`);

function suggestionLines({ suggestion, refused }: AccessUse, functions: Service["manifest"]["functions"]): string[] {
  const changes = functions.filter(({ name, roles }) => !isSame(roles, suggestion[name]!));
  if (changes.length === 0) return ["Suggested role lists: the present ones. Every right is used, or is new."];
  const lists = changes.map(({ name, roles }) => [name, listOf(suggestion[name]!), listOf(roles)]);
  const lost = refused.rights.map(
    ({ functionName, role, allCalls, lastAt }) =>
      `  ${functionName} as ${nameOf(role)}: ${allCalls}, the last on ${dayOf(lastAt)}`,
  );
  return [
    "Suggested role lists:",
    table(["function", "suggested", "present"], lists, ""),
    "",
    `They would have refused ${callsOf(refused.calls)} in the period and ${callsOf(refused.allCalls)} in the whole log${lost.length === 0 ? "." : ":"}`,
    ...lost,
  ];
}

const callsOf = (count: number): string => (count === 1 ? "1 call" : `${count} calls`);
const listOf = (roles: AccessUse["suggestion"][string]): string =>
  roles === "everyone" ? roles : roles.length === 0 ? "none: no role called it" : oneLine(roles.join(", "));

const isSame = (one: AccessUse["suggestion"][string], other: AccessUse["suggestion"][string]): boolean =>
  one === "everyone" || other === "everyone" ? one === other : one.length === other.length;
