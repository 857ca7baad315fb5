import {
  type Approval,
  APPROVAL_STATUSES,
  type ApprovalDecision,
  type ApprovalStatus,
  isJsonObject,
  type JsonObject,
  parseJson,
  present,
} from "@patchbay/protocol";
import type { Store } from "@patchbay/control-plane/admin";
import { type Command, InvalidArgumentError, Option } from "commander";
import { CommandFailure } from "../failure.ts";
import { agentOption, examples, option, parseCount } from "../options.ts";
import { fields, table } from "../table.ts";
import { adminCommand, administer, type AdminOptions } from "./administer.ts";

/** Decides as the operator, who has every right. */
const OPERATOR = { keyId: "command", tier: "", can: ["approve" as const] };

const ID = { id: "id of an approval, as `list` and the event `approvalRequest` show it" };

interface DecideOptions extends AdminOptions {
  as: string;
  reason?: string;
  arguments?: JsonObject;
}

/** `approvals`: list, show, approve and reject. A server that runs on the database continues the run within a second. */
export function addApprovalCommands(program: Command): void {
  const approvals = program.command("approvals").description("list, show and decide approvals of calls");
  adminCommand(approvals, "list", "list an agent's approvals, newest first")
    .addOption(agentOption().makeOptionMandatory())
    .addOption(new Option("--status <status>", "only approvals in this state").choices(APPROVAL_STATUSES))
    .addOption(option("--run <id>", "only approvals of this run"))
    .addOption(option("--limit <n>", "approvals to show, 1 to 10000").argParser(parseCount).default(100))
    .action(({ agent: agentId, run: runId, ...options }: ListOptions) =>
      administer(
        options,
        async (_admin, store) => {
          const { status, limit } = options;
          const found = await approvalsOf(store);
          return found.list({ ...OPERATOR, orgId: "", agentId }, { limit, ...present({ status, runId }) });
        },
        ({ items }) =>
          table(
            ["approval", "status", "function", "role", "by", "requested", "expires"],
            items.map((one) => [
              one.approvalId,
              one.status,
              one.toolName,
              one.role ?? "",
              one.by.join(", "),
              one.requestedAt,
              one.expiresAt,
            ]),
            "No approvals.",
          ),
      ),
    );
  adminCommand(approvals, "show <id>", "show an approval with the arguments of its call", ID).action(
    (id: string, options: AdminOptions) => administer(options, (_admin, store) => work(store, id), shown),
  );
  addDecision(approvals, { name: "approve", approved: true, description: "let a call run" });
  addDecision(approvals, { name: "reject", approved: false, description: "refuse a call" });
}

interface ListOptions extends AdminOptions {
  agent: string;
  run?: string;
  status?: ApprovalStatus;
  limit: number;
}

function addDecision(parent: Command, of: { name: string; approved: boolean; description: string }): void {
  const { name, approved, description } = of;
  const command = adminCommand(parent, `${name} <id>`, description, ID)
    .addOption(option("--as <role>", "the role under which you decide; one of those in `by`").makeOptionMandatory())
    .addOption(option("--reason <text>", "why; the model and the caller read the reason of a rejection"));
  if (approved)
    command.addOption(
      option("--arguments <json>", "the whole arguments with changes, only of members in `edit`").argParser(
        parseObject,
      ),
    );
  command.action((id: string, { as, reason, arguments: changed, ...options }: DecideOptions) =>
    administer(
      options,
      (_admin, store) => work(store, id, { approved, as, ...present({ reason, arguments: changed }) }),
      shown,
    ),
  );
  examples(command, `patchbay approvals ${name} apr_9f... --as manager`);
}

async function approvalsOf(store: Store) {
  const { createApprovals } = await import("@patchbay/control-plane/admin");
  // A server finds the decision by its poll.
  return createApprovals({ ...store, bus: { publish() {} } });
}

/** Decides an approval, or reads it without a decision. */
async function work(store: Store, approvalId: string, decision?: ApprovalDecision): Promise<Approval> {
  for (const { agentId, orgId } of await store.accounts.listAgents()) {
    if (!(await store.approvals.get(agentId, approvalId))) continue;
    const approvals = await approvalsOf(store);
    const operator = { ...OPERATOR, orgId, agentId };
    return await (decision ? approvals.decide(operator, approvalId, decision) : approvals.get(operator, approvalId));
  }
  throw new CommandFailure(
    `Approval ${approvalId} was not found. Run "patchbay approvals list --agent ID" to list them.`,
  );
}

const shown = (approval: Approval): string =>
  fields(
    Object.entries(approval)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
  );

function parseObject(text: string): JsonObject {
  const parsed = parseJson(text);
  if (parsed.ok && isJsonObject(parsed.value)) return parsed.value;
  throw new InvalidArgumentError("expected a JSON object");
}
