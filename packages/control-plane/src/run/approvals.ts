import {
  type Approval,
  CALLER,
  canonicalJson,
  type Fault,
  isJsonObject,
  type JsonObject,
  MESSAGES,
  present,
} from "@patchbay/protocol";
import type { ApprovalRecord, NewDecision } from "../ports/approvals.ts";
import type { Bus } from "../ports/bus.ts";
import { invalid, ServiceError } from "../ports/service-error.ts";
import type { AccountStore, Store } from "../ports/stores.ts";
import type { Approvals, Principal } from "./api.ts";
import { mayState } from "./role-check.ts";
import { DECIDED } from "./worker/executor.ts";

export function createApprovals({
  approvals,
  runs,
  accounts,
  bus,
}: {
  approvals: Store["approvals"];
  runs: Pick<Store["runs"], "get">;
  accounts: Pick<AccountStore, "haveSameHolder">;
  bus: Pick<Bus, "publish">;
}): Approvals {
  async function visible(principal: Principal, approvalId: string): Promise<ApprovalRecord> {
    requireRight(principal);
    const approval = await approvals.get(principal.agentId, approvalId);
    if (!approval || !mayState(principal, approval.role) || !isOpenTo(principal, approval))
      throw new ServiceError("not_found", "Approval not found");
    return approval;
  }

  /** The approval, whatever its status is, and the role under which the principal may decide it. */
  async function decidable(principal: Principal, approvalId: string, stated?: string) {
    const approval = await visible(principal, approvalId);
    const as = stated ?? onlyRole(principal);
    if (!mayState(principal, as) || !(await mayDecide(principal, approval, as)))
      throw notAllowed(`Role ${as} may not decide this approval`);
    if (approval.fourEyes && (await accounts.haveSameHolder(principal.keyId, approval.requestedBy)))
      throw notAllowed("The key or member that sent the query may not decide on its approval");
    return { approval, as };
  }

  async function mayDecide({ proven }: Principal, approval: ApprovalRecord, as: string): Promise<boolean> {
    const { agentId, runId, by, role } = approval;
    if (by.includes(as)) return true;
    if (!by.includes(CALLER) || as !== role) return false;
    // Another proven caller with the role of the run is not the caller who confirms.
    if (!proven) return true;
    return (await runs.get(agentId, runId))?.request.provenSubject === proven.subject;
  }

  return {
    requireRight,

    async list(principal, asked) {
      requireRight(principal);
      const { agentId, roles } = principal;
      const { items, nextCursor } = await approvals.list({ agentId, ...asked, ...(roles && { roles }) });
      return { items: items.map(approvalOf), nextCursor };
    },

    get: async (principal, approvalId) => approvalOf(await visible(principal, approvalId)),

    decidable: async (principal, approvalId) => approvalOf((await decidable(principal, approvalId)).approval),

    async decide(principal, approvalId, { approved, reason, as: stated, arguments: changed }) {
      const { approval, as } = await decidable(principal, approvalId, stated);
      if (approval.status !== "pending") throw decidedAlready(approval);
      // Also for a rejection: a body with changes that are not allowed is refused whatever it decides.
      const changes = changed && editedArguments(approval, changed);
      const edited = approved ? changes : undefined;
      const decision: NewDecision = { approved, as, by: principal.keyId, ...present({ reason, edited }) };
      const decided = await approvals.decide(principal.agentId, approvalId, decision);
      if (!decided) throw new ServiceError("not_found", "Approval not found");
      if (!decided.decided) throw decidedAlready(decided.approval);
      bus.publish(DECIDED, approval.runId);
      return approvalOf(decided.approval);
    },
  };
}

/** The holder of a client token confirms its own calls, and decides nothing else. */
const isOpenTo = ({ fixed }: Principal, { by, role }: ApprovalRecord): boolean =>
  !fixed || (by.includes(CALLER) && role === fixed.role);

function requireRight({ can, fixed }: Pick<Principal, "can" | "fixed">): void {
  if (!fixed && !can?.includes("approve"))
    throw notAllowed(
      "This key may not read or decide approvals. Create one with the right: patchbay keys create --can approve",
    );
}

const notAllowed = (why: string): ServiceError =>
  new ServiceError("role_not_allowed", `${MESSAGES.role_not_allowed}: ${why}.`.replace(/\.\.$/, "."));

function onlyRole({ roles }: Principal): string {
  if (roles?.length === 1) return roles[0]!;
  throw invalid([{ path: "as", message: "is required: name the role under which the key decides" }]);
}

const decidedAlready = ({ approvalId, status }: ApprovalRecord): ServiceError =>
  new ServiceError("conflict", `Approval ${approvalId} is ${status}, so it cannot be decided.`, { status });

/** The changed arguments; undefined if nothing differs. Throws for a change of a member that may not be changed. */
function editedArguments({ arguments: asked, edit }: ApprovalRecord, changed: JsonObject): JsonObject | undefined {
  const before = isJsonObject(asked) ? asked : {};
  const names = [...new Set([...Object.keys(before), ...Object.keys(changed)])];
  const differing = names.filter(
    (name) => canonicalJson(valueOf(before, name)) !== canonicalJson(valueOf(changed, name)),
  );
  const faults = differing
    .filter((name) => !edit.includes(name))
    .map((name): Fault => ({
      path: `arguments.${name}`,
      message: `must be as it was asked: ${edit.length === 0 ? "no member" : `only ${edit.join(", ")}`} may be changed`,
    }));
  if (faults.length > 0) throw invalid(faults);
  return differing.length > 0 ? changed : undefined;
}

/** A member that is absent differs from one that is null. */
const valueOf = (value: JsonObject, name: string) => (Object.hasOwn(value, name) ? [value[name]] : []);

const iso = (at: number): string => new Date(at).toISOString();

export function approvalOf(approval: ApprovalRecord): Approval {
  const { approvalId, runId, threadId, callId: toolCallId, functionName: toolName, reason, role, status } = approval;
  const { by, edit, requestedAt, expiresAt, decidedAt, decidedBy } = approval;
  return {
    approvalId,
    runId,
    threadId,
    toolCallId,
    toolName,
    parameters: approval.arguments,
    by: [...by],
    edit: [...edit],
    role: role ?? null,
    status,
    requestedAt: iso(requestedAt),
    expiresAt: iso(expiresAt),
    ...present({ reason, decidedAt: decidedAt === undefined ? undefined : iso(decidedAt), decidedBy }),
  };
}
