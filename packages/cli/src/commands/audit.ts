import { present } from "@patchbay/kit";
import type { Admin } from "@patchbay/control-plane";
import type { Command } from "commander";
import { agentOption, limitOption, option, type OptionsOf } from "../options.ts";
import { listing } from "../table.ts";
import { commitHeads, readHeads } from "../audit-heads.ts";
import { oneLine, paint, print, written } from "../output.ts";
import { adminCommand, type AdminOptions, describeCommand, withAdmin } from "./administer.ts";

type Page = Awaited<ReturnType<Admin["listAudit"]>>;
/** `access` comes with the entries of one run: the functions that its role saw. */
type Shown = Page & { access?: Awaited<ReturnType<Admin["runAccess"]>> };

const SINCE = "only since a time, or for the last 90m, 24h, 7d";

const listOptions = () => [
  agentOption("agent whose entries are shown, as `agents list` shows its id"),
  option("--org <id>", "this organisation's administration, in place of an agent's entries"),
  option("--run <id>", "only this run, with the functions that its role saw"),
  option("--role <role>", "only entries from queries with this role"),
  option("--function <name>", "only entries for calls to this function"),
  option("--action <action>", "only this action (call.denied) or action group (call)"),
  option("--since <time>", SINCE),
  limitOption("entries"),
  option("--cursor <cursor>", "continue after the page that returned this cursor"),
];

const exportOptions = () => [
  option("--org <id>", "the organisation (default: the only one)"),
  option("--since <time>", SINCE),
  option("--cursor <cursor>", "continue after the line with this cursor"),
];
type ExportOptions = AdminOptions & OptionsOf<typeof exportOptions>;

/** `audit`: the log with calls, refusals and administration. */
export function addAuditCommand(program: Command): void {
  const audit = program
    .command("audit")
    .description("read and verify the audit log: calls, refusals with their rule, administration");
  adminCommand(audit, "list", "list an agent's entries, newest first", {
    options: listOptions(),
    examples: [
      "patchbay audit list --agent agt_... --action call.denied --since 24h",
      "patchbay audit list --agent agt_... --run run_...   # with the visible and hidden functions of its role",
      "patchbay audit list --org org_...                   # keys, agents, credits, tokens",
    ],
    check({ agent, org }, refuse) {
      if (agent === undefined && org === undefined)
        refuse("name the agent with --agent ID, or the organisation with --org ID");
    },
    work: ({ admin, options }) => list(admin, options),
    show,
  });
  addVerifyCommand(audit);
  describeCommand(audit, "export", "print all of an organisation's entries as NDJSON, oldest first", {
    options: exportOptions(),
    examples: [
      "patchbay audit export --since 24h > audit.ndjson",
      'patchbay audit export --cursor "$(tail -1 audit.ndjson | jq -r .cursor)" >> audit.ndjson   # what is new',
    ],
  }).action((options: ExportOptions) => withAdmin(options, (admin) => exportEntries(admin, options)));
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
  adminCommand(audit, "verify", "check that sealed entries are unchanged and complete; exit 1 if not", {
    options: [
      option("--org <id>", "only this organisation"),
      option(
        "--commit <file>",
        "check against the last heads in this file of a git repository, then commit the new ones",
      ),
      option("--runs", "also compare the roles, arguments, results and contexts of stored runs with the log"),
      option("--head <head>", "with --org: a head from an earlier check, which the chain must contain"),
    ],
    examples: [
      "patchbay audit verify",
      "patchbay audit verify --runs",
      "patchbay audit verify --org org_... --head 12:9f86d081...",
    ],
    check({ org, head }, refuse) {
      if (head !== undefined && org === undefined) refuse("name the organisation of --head with --org ID");
    },
    work: async ({ admin, options: { org, head, runs, commit } }) => ({
      items: await verify(admin, org, { head, runs, commit }),
    }),
    show: ({ items }) => items.flatMap(linesOf).join("\n"),
    fault({ items }) {
      const faults = items.reduce((sum, segment) => sum + segment.faults.length + segment.omittedFaults, 0);
      if (faults === 0) return undefined;
      return faults === 1 ? "1 fault." : `${faults} faults.`;
    },
  });
}

type Verified = Awaited<ReturnType<Admin["verifyAudit"]>>;

async function verify(
  admin: Admin,
  org: string | undefined,
  { commit, ...asked }: { head: string | undefined; runs: true | undefined; commit: string | undefined },
): Promise<Verified[]> {
  const orgs = org === undefined ? (await admin.listOrgs()).map(({ orgId }) => orgId) : [org];
  const noted = commit === undefined ? undefined : await readHeads(commit);
  const items: Verified[] = [];
  for (const orgId of orgs)
    items.push(await admin.verifyAudit(orgId, present({ ...asked, head: asked.head ?? noted?.get(orgId) })));
  const isIntact = items.every(({ faults }) => faults.length === 0);
  if (commit !== undefined && isIntact) await commitHeads(commit, items);
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
  runs,
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
    ...(runs
      ? [
          `  ${runs.compared} stored runs compared${runs.earlier === 0 ? "" : `, and ${runs.earlier} of earlier versions not`}`,
        ]
      : []),
    ...notes.map((note) => `  ${paint("yellow", "note")}  ${oneLine(note)}`),
    ...faults.map((fault) => `  ${paint("red", "fault")}  ${oneLine(fault)}`),
    ...(omittedFaults === 0 ? [] : [`  ${omittedFaults} more faults`]),
  ];
}

const ofDays = (days: number | null): string => (days === null ? "" : days === 1 ? " of 1 day" : ` of ${days} days`);

async function list(admin: Admin, options: OptionsOf<typeof listOptions>): Promise<Shown> {
  const { agent, org, run, function: functionName, role, action, since, limit, cursor } = options;
  const query = { limit, ...present({ runId: run, role, functionName, action, since, cursor }) };
  if (org !== undefined) return admin.listAdministration(org, query);
  const agentId = agent ?? "";
  const page = await admin.listAudit(agentId, query);
  const access = run === undefined ? undefined : await admin.runAccess(agentId, run);
  return access ? { ...page, access } : page;
}

function show({ items, nextCursor, access }: Shown): string {
  const lines = [
    listing(items, "No entries yet.", {
      time: "at",
      action: "action",
      function: "functionName",
      role: "role",
      rule: "rule",
      about: ({ runId, keyId, agentId }) => runId ?? keyId ?? agentId ?? "",
      detail: ({ detail = {} }) =>
        Object.entries(detail)
          .map(([name, value]) => `${name} ${textOf(value)}`)
          .join(", "),
    }),
  ];
  if (access) {
    const whose = access.role === null ? "A query without a role" : `Role ${oneLine(access.role)}`;
    lines.push("", `${whose} sees: ${listed(access.visible)}`, `Hidden: ${listed(access.hidden)}`);
  }
  if (nextCursor !== null) lines.push("", `More entries: --cursor ${nextCursor}`);
  return lines.join("\n");
}

const textOf = (value: unknown): string => (Array.isArray(value) ? value.join(" ") : String(value));

const listed = (names: readonly string[]): string => (names.length === 0 ? "nothing" : oneLine(names.join(", ")));
