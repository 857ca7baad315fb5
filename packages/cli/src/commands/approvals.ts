import { type Approval, APPROVAL_STATUSES, type ApprovalDecision } from "@patchbay/protocol";
import { isJsonObject, type JsonObject, parseJson, present } from "@patchbay/kit";
import type { Store } from "@patchbay/control-plane/admin";
import { type Command, InvalidArgumentError } from "commander";
import { CommandFailure } from "@patchbay/loading/failure";
import { limitOption, option, plainOption, requiredAgentOption } from "../options.ts";
import { listing } from "../table.ts";
import { adminCommand, shownMembers } from "./administer.ts";

/** Decides as the operator, who has every right. */
const OPERATOR = { keyId: "command", tier: "", can: ["approve" as const] };

const ID = { id: "approval id, as `list` and the event `approvalRequest` show it" };

/** `approvals`: list, show, approve and reject. A server that runs on the database continues the run within a second. */
export function addApprovalCommands(program: Command): void {
  const approvals = program.command("approvals").description("list, show and decide call approvals");
  adminCommand(approvals, "list", "list an agent's approvals, newest first", {
    options: [
      requiredAgentOption(),
      plainOption("--status <status>", "only approvals in this state", { choices: APPROVAL_STATUSES }),
      option("--run <id>", "only this run's approvals"),
      limitOption("approvals"),
    ],
    async work({ store, options: { agent: agentId, run: runId, status, limit } }) {
      const found = await approvalsOf(store);
      return found.list({ ...OPERATOR, orgId: "", agentId }, { limit, ...present({ status, runId }) });
    },
    show: ({ items }) =>
      listing(items, "No approvals.", {
        approval: "approvalId",
        status: "status",
        function: "toolName",
        role: "role",
        by: ({ by }) => by.join(", "),
        requested: "requestedAt",
        expires: "expiresAt",
      }),
  });
  adminCommand(approvals, "show <id>", "show an approval with its call's arguments", {
    arguments: ID,
    work: ({ store, args: [id] }) => readOrDecide(store, id),
    show: shown,
  });
  addDecision(approvals, { name: "approve", approved: true, description: "let a call run" });
  addDecision(approvals, { name: "reject", approved: false, description: "refuse a call" });
}

function addDecision(parent: Command, of: { name: string; approved: boolean; description: string }): void {
  const { name, approved, description } = of;
  const edit = option("--arguments <json>", "the whole arguments with changes, only to members in `edit`", {
    parse: parseObject,
  });
  adminCommand(parent, `${name} <id>`, description, {
    arguments: ID,
    options: [
      option("--as <role>", "the role under which you decide; one from `by`", { required: true }),
      option("--reason <text>", "why; the model and the caller read a rejection's reason"),
      ...(approved ? [edit] : []),
    ],
    examples: [`patchbay approvals ${name} apr_9f... --as manager`],
    work: ({ store, args: [id], options: { as, reason, arguments: changed } }) =>
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
