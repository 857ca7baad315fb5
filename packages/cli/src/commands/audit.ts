import { present } from "@patchbay/protocol";
import type { Admin } from "@patchbay/control-plane";
import type { Command } from "commander";
import { CommandFailure } from "../failure.ts";
import { agentOption, examples, option, parseCount } from "../options.ts";
import { table } from "../table.ts";
import { oneLine, paint, print, written } from "../output.ts";
import { adminCommand, administer, type AdminOptions, withAdmin } from "./administer.ts";

interface AuditOptions extends AdminOptions {
  agent?: string;
  org?: string;
  run?: string;
  role?: string;
  function?: string;
  action?: string;
  since?: string;
  limit: number;
  cursor?: string;
}

type Page = Awaited<ReturnType<Admin["listAudit"]>>;
type Entry = Page["items"][number];
/** `access` comes with the entries of one run: the functions that its role saw. */
type Shown = Page & { access?: Awaited<ReturnType<Admin["runAccess"]>> };

interface VerifyOptions extends AdminOptions {
  org?: string;
  head?: string;
}

/** `audit`: the log of calls, refusals and administration. */
export function addAuditCommand(program: Command): void {
  const audit = program
    .command("audit")
    .description("read and verify the audit log: calls, refusals with their rule, administration");
  const command = adminCommand(audit, "list", "list an agent's entries, newest first")
    .addOption(agentOption("agent whose entries are shown, as `agents list` shows its id"))
    .addOption(option("--org <id>", "administration of this organisation, in place of an agent's entries"))
    .addOption(option("--run <id>", "only this run, with the functions that its role saw"))
    .addOption(option("--role <role>", "only entries of queries with this role"))
    .addOption(option("--function <name>", "only entries of calls of this function"))
    .addOption(option("--action <action>", "only this action (call.denied) or group of actions (call)"))
    .addOption(option("--since <time>", "only since a time, or for the last 90m, 24h, 7d"))
    .addOption(option("--limit <n>", "entries to show, 1 to 10000").argParser(parseCount).default(100))
    .addOption(option("--cursor <cursor>", "continue after the page that returned this cursor"))
    .action(async (options: AuditOptions) => {
      if (options.agent === undefined && options.org === undefined)
        command.error("error: name the agent with --agent ID, or the organisation with --org ID");
      await administer(options, (admin) => list(admin, options), show);
    });
  examples(
    command,
    "patchbay audit list --agent agt_... --action call.denied --since 24h",
    "patchbay audit list --agent agt_... --run run_...   # with the visible and hidden functions of its role",
    "patchbay audit list --org org_...                   # keys, agents, credits, tokens",
  );
  addVerifyCommand(audit);
  addExportCommand(audit);
}

interface ExportOptions extends AdminOptions {
  org?: string;
  since?: string;
  cursor?: string;
}

function addExportCommand(audit: Command): void {
  const command = adminCommand(audit, "export", "print all entries of an organisation as NDJSON, oldest first")
    .addOption(option("--org <id>", "the organisation (default: the only one)"))
    .addOption(option("--since <time>", "only since a time, or for the last 90m, 24h, 7d"))
    .addOption(option("--cursor <cursor>", "continue after the line with this cursor"))
    .action((options: ExportOptions) => withAdmin(options, (admin) => exportEntries(admin, options)));
  examples(
    command,
    "patchbay audit export --since 24h > audit.ndjson",
    'patchbay audit export --cursor "$(tail -1 audit.ndjson | jq -r .cursor)" >> audit.ndjson   # what is new',
  );
}

async function exportEntries(admin: Admin, { org, since, cursor }: ExportOptions): Promise<void> {
  const pages = admin.exportAudit(await admin.orgFor(org), present({ cursor, since }));
  for await (const page of pages) {
    print(page.map((entry) => JSON.stringify(entry)).join("\n"));
    // A slow reader slows the export down: otherwise the whole log would collect in memory.
    await written();
  }
}

function addVerifyCommand(audit: Command): void {
  const command = adminCommand(audit, "verify", "check that sealed entries are unchanged and complete; exit 1 if not")
    .addOption(option("--org <id>", "only this organisation"))
    .addOption(
      option("--head <head>", "with --org: a head that an earlier check printed, which the chain must contain"),
    )
    .action(async (options: VerifyOptions) => {
      const { org, head } = options;
      if (head !== undefined && org === undefined)
        command.error("error: name the organisation of --head with --org ID");
      let faults = 0;
      const work = async (admin: Admin) => {
        const items = await verify(admin, org, head);
        faults = items.reduce((sum, one) => sum + one.faults.length + one.omittedFaults, 0);
        return { items };
      };
      await administer(options, work, ({ items }) => items.flatMap(linesOf).join("\n"));
      if (faults > 0) throw new CommandFailure(faults === 1 ? "1 fault." : `${faults} faults.`);
    });
  examples(command, "patchbay audit verify", "patchbay audit verify --org org_... --head 12:9f86d081...");
}

type Verified = Awaited<ReturnType<Admin["verifyAudit"]>>;

async function verify(admin: Admin, org: string | undefined, head: string | undefined): Promise<Verified[]> {
  const orgs = org === undefined ? (await admin.listOrgs()).map(({ orgId }) => orgId) : [org];
  const items: Verified[] = [];
  for (const orgId of orgs) items.push(await admin.verifyAudit(orgId, present({ head })));
  return items;
}

function linesOf({
  orgId,
  head,
  seals,
  entries,
  deleted,
  unsealed,
  faults,
  omittedFaults,
  sealedTo,
}: Verified): string[] {
  const verdict = faults.length === 0 ? paint("green", "verified") : paint("red", "changed");
  return [
    `${orgId}  ${verdict}  ${entries} entries in ${seals} seals${sealedTo === null ? "" : ` to ${sealedTo}`}`,
    ...(head === null ? [] : [`  head ${head}`]),
    ...(deleted.to === null
      ? []
      : [`  ${deleted.entries} entries until ${deleted.to} are deleted: past their retention`]),
    ...(unsealed === 0 ? [] : [`  ${unsealed} newer entries are not sealed yet: a server seals them within a minute`]),
    ...faults.map((fault) => `  ${paint("red", "fault")}  ${oneLine(fault)}`),
    ...(omittedFaults === 0 ? [] : [`  ${omittedFaults} more faults`]),
  ];
}

async function list(admin: Admin, options: AuditOptions): Promise<Shown> {
  const { agent, org, run, function: functionName, role, action, since, limit, cursor } = options;
  const query = { limit, ...present({ runId: run, role, functionName, action, since, cursor }) };
  if (org !== undefined) return admin.listAdministration(org, query);
  const agentId = agent ?? "";
  const page = await admin.listAudit(agentId, query);
  const access = run === undefined ? undefined : await admin.runAccess(agentId, run);
  return access ? { ...page, access } : page;
}

function show({ items, nextCursor, access }: Shown): string {
  const headings = ["time", "action", "function", "role", "rule", "about", "detail"];
  const lines = [table(headings, items.map(cells), "No entries yet.")];
  if (access) {
    const whose = access.role === null ? "A query without a role" : `Role ${oneLine(access.role)}`;
    lines.push("", `${whose} sees: ${listed(access.visible)}`, `Hidden: ${listed(access.hidden)}`);
  }
  if (nextCursor !== null) lines.push("", `More entries: --cursor ${nextCursor}`);
  return lines.join("\n");
}

function cells({ at, action, functionName, role, rule, runId, keyId, agentId, detail = {} }: Entry): string[] {
  const details = Object.entries(detail).map(([name, value]) => `${name} ${textOf(value)}`);
  return [at, action, functionName ?? "", role ?? "", rule ?? "", runId ?? keyId ?? agentId ?? "", details.join(", ")];
}

const textOf = (value: unknown): string => (Array.isArray(value) ? value.join(" ") : String(value));

const listed = (names: readonly string[]): string => (names.length === 0 ? "nothing" : oneLine(names.join(", ")));
