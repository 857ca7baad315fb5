import { present } from "@patchbay/kit";
import type { Admin } from "@patchbay/control-plane";
import type { Command } from "commander";
import { CommandFailure } from "@patchbay/loading/failure";
import { agentOption, option, parseCount } from "../options.ts";
import { table } from "../table.ts";
import { oneLine, paint, print, written } from "../output.ts";
import { adminCommand, type AdminOptions, databaseCommand, type Task, withAdmin } from "./administer.ts";

interface AuditOptions {
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

const SINCE = "only since a time, or for the last 90m, 24h, 7d";

/** `audit`: the log with calls, refusals and administration. */
export function addAuditCommand(program: Command): void {
  const audit = program
    .command("audit")
    .description("read and verify the audit log: calls, refusals with their rule, administration");
  adminCommand(audit, "list", "list an agent's entries, newest first", {
    options: [
      agentOption("agent whose entries are shown, as `agents list` shows its id"),
      option("--org <id>", "this organisation's administration, in place of an agent's entries"),
      option("--run <id>", "only this run, with the functions that its role saw"),
      option("--role <role>", "only entries from queries with this role"),
      option("--function <name>", "only entries for calls to this function"),
      option("--action <action>", "only this action (call.denied) or action group (call)"),
      option("--since <time>", SINCE),
      option("--limit <n>", "entries to show, 1 to 10000").argParser(parseCount).default(100),
      option("--cursor <cursor>", "continue after the page that returned this cursor"),
    ],
    examples: [
      "patchbay audit list --agent agt_... --action call.denied --since 24h",
      "patchbay audit list --agent agt_... --run run_...   # with the visible and hidden functions of its role",
      "patchbay audit list --org org_...                   # keys, agents, credits, tokens",
    ],
    check({ agent, org }, refuse) {
      if (agent === undefined && org === undefined)
        refuse("name the agent with --agent ID, or the organisation with --org ID");
    },
    work: ({ admin, options }: Task<AuditOptions>) => list(admin, options),
    show,
  });
  addVerifyCommand(audit);
  databaseCommand(audit, "export", "print all of an organisation's entries as NDJSON, oldest first", {
    options: [
      option("--org <id>", "the organisation (default: the only one)"),
      option("--since <time>", SINCE),
      option("--cursor <cursor>", "continue after the line with this cursor"),
    ],
    examples: [
      "patchbay audit export --since 24h > audit.ndjson",
      'patchbay audit export --cursor "$(tail -1 audit.ndjson | jq -r .cursor)" >> audit.ndjson   # what is new',
    ],
  }).action((options: ExportOptions) => withAdmin(options, (admin) => exportEntries(admin, options)));
}

interface ExportOptions extends AdminOptions {
  org?: string;
  since?: string;
  cursor?: string;
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
  let faults = 0;
  adminCommand(audit, "verify", "check that sealed entries are unchanged and complete; exit 1 if not", {
    options: [
      option("--org <id>", "only this organisation"),
      option("--head <head>", "with --org: a head from an earlier check, which the chain must contain"),
    ],
    examples: ["patchbay audit verify", "patchbay audit verify --org org_... --head 12:9f86d081..."],
    check({ org, head }, refuse) {
      if (head !== undefined && org === undefined) refuse("name the organisation of --head with --org ID");
    },
    async work({ admin, options: { org, head } }: Task<{ org?: string; head?: string }>) {
      const items = await verify(admin, org, head);
      faults = items.reduce((sum, one) => sum + one.faults.length + one.omittedFaults, 0);
      return { items };
    },
    show: ({ items }) => items.flatMap(linesOf).join("\n"),
  }).hook("postAction", () => {
    if (faults > 0) throw new CommandFailure(faults === 1 ? "1 fault." : `${faults} faults.`);
  });
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
  notes,
  sealedTo,
}: Verified): string[] {
  const verdict = faults.length === 0 ? paint("green", "verified") : paint("red", "changed");
  return [
    `${orgId}  ${verdict}  ${entries} entries in ${seals} seals${sealedTo === null ? "" : ` to ${sealedTo}`}`,
    ...(head === null ? [] : [`  head ${head}`]),
    ...(deleted.to === null
      ? []
      : [`  ${deleted.entries} entries until ${deleted.to} are deleted: past their retention${ofDays(deleted.days)}`]),
    ...(unsealed === 0 ? [] : [`  ${unsealed} newer entries are not sealed yet: a server seals them within a minute`]),
    ...notes.map((note) => `  ${paint("yellow", "note")}  ${oneLine(note)}`),
    ...faults.map((fault) => `  ${paint("red", "fault")}  ${oneLine(fault)}`),
    ...(omittedFaults === 0 ? [] : [`  ${omittedFaults} more faults`]),
  ];
}

const ofDays = (days: number | null): string => (days === null ? "" : days === 1 ? " of 1 day" : ` of ${days} days`);

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
