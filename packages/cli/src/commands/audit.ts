import type { Admin } from "@patchbay/control-plane";
import type { Command } from "commander";
import { agentOption, examples, option, parseCount } from "../options.ts";
import { table } from "../output.ts";
import { oneLine } from "../text.ts";
import { adminCommand, administer, type AdminOptions } from "./administer.ts";

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
/** `access` stands beside the entries of one run: what its role was shown. */
type Shown = Page & { access?: Awaited<ReturnType<Admin["runAccess"]>> };

/** `audit`: who did what, and what was refused. */
export function addAuditCommand(program: Command): void {
  const audit = program.command("audit").description("the audit log: who did what, what was refused and by which rule");
  const command = adminCommand(audit, "list", "list an agent's entries, newest first")
    .addOption(agentOption("the agent"))
    .addOption(option("--org <id>", "what was administered in this organisation, instead of an agent's entries"))
    .addOption(option("--run <id>", "only those of one run, and what its role was shown"))
    .addOption(option("--role <role>", "only those under this role"))
    .addOption(option("--function <name>", "only those of this function"))
    .addOption(option("--action <action>", "only this action (call.denied) or group of actions (call)"))
    .addOption(option("--since <time>", "only those since a time, or so long ago (90m, 24h, 7d)"))
    .addOption(option("--limit <n>", "so many at once").argParser(parseCount).default(100))
    .addOption(option("--cursor <cursor>", "go on after the page that gave this cursor"))
    .action(async (options: AuditOptions) => {
      if (options.agent === undefined && options.org === undefined)
        command.error("error: name the agent with --agent ID, or the organisation with --org ID");
      await administer(options, (admin) => list(admin, options), show);
    });
  examples(
    command,
    "patchbay audit list --agent agt_... --action call.denied --since 24h",
    "patchbay audit list --agent agt_... --run run_...   # with what its role was shown and what was hidden",
    "patchbay audit list --org org_...                   # keys, agents, credits, tokens",
  );
}

async function list(admin: Admin, options: AuditOptions): Promise<Shown> {
  const { agent, org, run, function: functionName, role, action, since, limit, cursor } = options;
  const query = {
    limit,
    ...(run !== undefined && { runId: run }),
    ...(role !== undefined && { role }),
    ...(functionName !== undefined && { functionName }),
    ...(action !== undefined && { action }),
    ...(since !== undefined && { since }),
    ...(cursor !== undefined && { cursor }),
  };
  if (org !== undefined) return admin.listAdministration(org, query);
  const agentId = agent ?? "";
  const page = await admin.listAudit(agentId, query);
  const access = run === undefined ? undefined : await admin.runAccess(agentId, run);
  return access ? { ...page, access } : page;
}

function show({ items, nextCursor, access }: Shown): string {
  const headings = ["time", "action", "function", "role", "rule", "about", "detail"];
  const lines = [table(headings, items.map(cells), "Nothing yet.")];
  if (access) {
    const to = access.role === null ? "Without a role" : `Role ${oneLine(access.role)}`;
    lines.push("", `${to} was shown: ${listed(access.visible)}`, `and not: ${listed(access.hidden)}`);
  }
  if (nextCursor !== null) lines.push("", `There is more: --cursor ${nextCursor}`);
  return lines.join("\n");
}

function cells({ at, action, functionName, role, rule, runId, keyId, agentId, detail = {} }: Entry): string[] {
  const told = Object.entries(detail).map(([name, value]) => `${name} ${wordsOf(value)}`);
  return [at, action, functionName ?? "", role ?? "", rule ?? "", runId ?? keyId ?? agentId ?? "", told.join(", ")];
}

const wordsOf = (value: unknown): string => (Array.isArray(value) ? value.join(" ") : String(value));

const listed = (names: readonly string[]): string => (names.length === 0 ? "nothing" : oneLine(names.join(", ")));
