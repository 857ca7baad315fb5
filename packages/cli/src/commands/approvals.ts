import { type Approval, APPROVAL_STATUSES, type ApprovalDecision, type ApprovalStatus } from "@patchbay/protocol";
import { isJsonObject, type JsonObject, parseJson, present } from "@patchbay/kit";
import type { Store } from "@patchbay/control-plane/admin";
import { type Command, InvalidArgumentError, Option } from "commander";
import { CommandFailure } from "@patchbay/loading/failure";
import { agentOption, option, parseCount } from "../options.ts";
import { table } from "../table.ts";
import { adminCommand, shownMembers, type Task } from "./administer.ts";

/** Decides as the operator, who has every right. */
const OPERATOR = { keyId: "command", tier: "", can: ["approve" as const] };

const ID = { id: "approval id, as `list` and the event `approvalRequest` show it" };

interface DecideOptions {
  as: string;
  reason?: string;
  arguments?: JsonObject;
}

interface ListOptions {
  agent: string;
  run?: string;
  status?: ApprovalStatus;
  limit: number;
}

/** `approvals`: list, show, approve and reject. A server that runs on the database continues the run within a second. */
export function addApprovalCommands(program: Command): void {
  const approvals = program.command("approvals").description("list, show and decide call approvals");
  adminCommand(approvals, "list", "list an agent's approvals, newest first", {
    options: [
      agentOption().makeOptionMandatory(),
      new Option("--status <status>", "only approvals in this state").choices(APPROVAL_STATUSES),
      option("--run <id>", "only this run's approvals"),
      option("--limit <n>", "approvals to show, 1 to 10000").argParser(parseCount).default(100),
    ],
    async work({ store, options: { agent: agentId, run: runId, status, limit } }: Task<ListOptions>) {
      const found = await approvalsOf(store);
      return found.list({ ...OPERATOR, orgId: "", agentId }, { limit, ...present({ status, runId }) });
    },
    show: ({ items }) =>
      table(
        ["approval", "status", "function", "role", "by", "requested", "expires"],
        items.map(({ approvalId, status, toolName, role, by, requestedAt, expiresAt }) => [
          approvalId,
          status,
          toolName,
          role ?? "",
          by.join(", "),
          requestedAt,
          expiresAt,
        ]),
        "No approvals.",
      ),
  });
  adminCommand(approvals, "show <id>", "show an approval with its call's arguments", {
    arguments: ID,
    work: ({ store, args: [id] }: Task) => readOrDecide(store, id),
    show: shown,
  });
  addDecision(approvals, { name: "approve", approved: true, description: "let a call run" });
  addDecision(approvals, { name: "reject", approved: false, description: "refuse a call" });
}

function addDecision(parent: Command, of: { name: string; approved: boolean; description: string }): void {
  const { name, approved, description } = of;
  const edit = option("--arguments <json>", "the whole arguments with changes, only to members in `edit`");
  adminCommand(parent, `${name} <id>`, description, {
    arguments: ID,
    options: [
      option("--as <role>", "the role under which you decide; one from `by`").makeOptionMandatory(),
      option("--reason <text>", "why; the model and the caller read a rejection's reason"),
      ...(approved ? [edit.argParser(parseObject)] : []),
    ],
    examples: [`patchbay approvals ${name} apr_9f... --as manager`],
    work: ({ store, args: [id], options: { as, reason, arguments: changed } }: Task<DecideOptions>) =>
      readOrDecide(store, id, { approved, as, ...present({ reason, arguments: changed }) }),
    show: shown,
  });
}

async function approvalsOf(store: Store) {
  const { createApprovals } = await import("@patchbay/control-plane/admin");
  // A server finds the decision by its poll.
  return createApprovals({ ...store, bus: { publish() {} } });
}

/** Decides an approval, or reads it without a decision. */
async function readOrDecide(store: Store, approvalId: string, decision?: ApprovalDecision): Promise<Approval> {
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
  shownMembers(approval, (value) => (typeof value === "string" ? value : JSON.stringify(value)));

function parseObject(text: string): JsonObject {
  const parsed = parseJson(text);
  if (parsed.ok && isJsonObject(parsed.value)) return parsed.value;
  throw new InvalidArgumentError("expected a JSON object");
}
