import { type Approval, CALLER, type Fault } from "@patchbay/protocol";
import { canonicalJson, isJsonObject, isoTime, type JsonObject, present } from "@patchbay/kit";
import type { ApprovalRecord, NewDecision } from "../ports/store/approvals.ts";
import { type Bus, DUE } from "../ports/bus.ts";
import { invalid, ServiceError, standardError } from "../ports/service-error.ts";
import type { AccountStore, Store } from "../ports/store/stores.ts";
import type { Approvals, Principal } from "./api.ts";
import { mayState } from "./role-check.ts";
import { isApprovalVisible, isOfCaller, visibleApprovals } from "./visibility.ts";

interface ApprovalContext extends Pick<Store, "approvals"> {
  accounts: Pick<AccountStore, "haveSameHolder">;
  bus: Pick<Bus, "publish">;
}

export function createApprovals({ approvals, accounts, bus }: ApprovalContext): Approvals {
  async function visible(principal: Principal, approvalId: string): Promise<ApprovalRecord> {
    requireRight(principal);
    const approval = await approvals.get(principal.agentId, approvalId);
    if (!approval || !isApprovalVisible(principal, approval) || !isOpenTo(principal, approval))
      throw new ServiceError("not_found", "Approval not found");
    return approval;
  }

  /** The approval, in any status, and the role under which the principal may decide it. */
  async function decidable(principal: Principal, approvalId: string, claimed?: string) {
    const approval = await visible(principal, approvalId);
    const as = claimed ?? onlyRole(principal);
    if (as === CALLER)
      throw notAllowed(`"${CALLER}" stands for the role of the query: name that role, to confirm a call of its sender`);
    if (!mayState(principal, as)) throw notAllowed(`This request may not act as ${as}`);
    if (!mayDecide(principal, approval, as)) throw notAllowed(`Role ${as} may not decide this approval`);
    // One person may use several keys, or none.
    const isOwn = principal.proven !== undefined && isOfCaller(principal, approval);
    if (approval.fourEyes && (isOwn || (await accounts.haveSameHolder(principal.keyId, approval))))
      throw notAllowed(
        "Its query was sent by the same caller, key or member, or by a key with the same maker, and it needs another person",
      );
    return { approval, as };
  }

  /** Another proven caller with the run's role is not the caller who confirms. */
  const mayDecide = (principal: Principal, approval: ApprovalRecord, as: string): boolean =>
    approval.by.includes(as) ||
    (approval.by.includes(CALLER) && as === approval.role && isOfCaller(principal, approval));

  return {
    requireRight,

    async list(principal, asked) {
      requireRight(principal);
      const { agentId } = principal;
      const { items, nextCursor } = await approvals.list({ agentId, ...asked, ...visibleApprovals(principal) });
      return { items: items.filter((one) => isApprovalVisible(principal, one)).map(approvalOf), nextCursor };
    },

    get: async (principal, approvalId) => approvalOf(await visible(principal, approvalId)),

    decidable: async (principal, approvalId) => approvalOf((await decidable(principal, approvalId)).approval),

    async decide(principal, approvalId, { approved, reason, as: claimed, arguments: changed }) {
      const { approval, as } = await decidable(principal, approvalId, claimed);
      if (approval.status !== "pending") throw decidedAlready(approval);
      // Also for a rejection: a body with forbidden changes is refused whatever it decides.
      const changes = changed && editedArguments(approval, changed);
      const edited = approved ? changes : undefined;
      const decision: NewDecision = { approved, as, by: principal.keyId, ...present({ reason, edited }) };
      const decided = await approvals.decide(principal.agentId, approvalId, decision);
      if (!decided) throw new ServiceError("not_found", "Approval not found");
      if (!decided.decided) throw decidedAlready(decided.approval);
      bus.publish(DUE, approval.runId);
      return approvalOf(decided.approval);
    },
  };
}

/** A client token's holder confirms its own calls, and decides nothing else. */
const isOpenTo = ({ fixed }: Principal, { by, role }: ApprovalRecord): boolean =>
  !fixed || (by.includes(CALLER) && role === fixed.role);

function requireRight({ can, fixed }: Pick<Principal, "can" | "fixed">): void {
  if (!fixed && !can?.includes("approve"))
    throw notAllowed(
      "This key may not read or decide approvals. Create one with the right: patchbay keys create --can approve",
    );
}

const notAllowed = (why: string): ServiceError => standardError("role_not_allowed", `${why}.`.replace(/\.\.$/, "."));

function onlyRole({ roles }: Principal): string {
  if (roles?.length === 1) return roles[0]!;
  throw invalid([{ path: "as", message: "is required: name the role under which the key decides" }]);
}

const decidedAlready = ({ approvalId, status }: ApprovalRecord): ServiceError =>
  new ServiceError("conflict", `Approval ${approvalId} is ${status}, so it cannot be decided.`, { status });

/** The changed arguments; undefined if nothing differs. Throws for a member that may not be changed. */
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

/** An absent member differs from a null one. */
const valueOf = (value: JsonObject, name: string) => (Object.hasOwn(value, name) ? [value[name]] : []);

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
    requestedAt: isoTime(requestedAt),
    expiresAt: isoTime(expiresAt),
    ...present({
      reason,
      flow: approval.flow,
      decidedAt: decidedAt === undefined ? undefined : isoTime(decidedAt),
      decidedBy,
    }),
  };
}
