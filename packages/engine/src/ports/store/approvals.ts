import type { ApprovalStatus, FlowNotice, GrantedApproval } from "@patchbay/protocol";
import { isoTime, type JsonObject, type JsonValue } from "@patchbay/kit";
import type { VisibleTo } from "../callers.ts";
import type { Page, PageAsked } from "./page.ts";

/** A new request to approve a call. */
export interface NewApproval {
  approvalId: string;
  callId: string;
  functionName: string;
  /** The arguments that the model wrote. */
  arguments: JsonValue;
  /** SHA-256 of their canonical JSON, in hexadecimal. */
  argumentsHash: string;
  /** Why the owner's code asks for the approval. */
  reason?: string;
  /** What the data-flow rules ask about. */
  flow?: FlowNotice;
  /** The roles that may decide; `caller` means the run's own role. */
  by: readonly string[];
  /** Argument members that a decision may change. */
  edit: readonly string[];
  /** True if the key or member that sent the query may not decide. */
  fourEyes: boolean;
  expiresAt: number;
}

/** A stored approval. Times are milliseconds by the database's clock. */
export interface ApprovalRecord extends NewApproval {
  orgId: string;
  agentId: string;
  runId: string;
  threadId: string;
  /** The run's role. */
  role?: string;
  /** The run's proven caller. */
  callerId?: string;
  /** A pending approval that has expired reads as `expired`, also before its run has stored that. */
  status: ApprovalStatus;
  /** The key or member that sent the query. */
  requestedBy: string;
  requestedAt: number;
  decidedAt?: number;
  decidedBy?: string;
  /** The role under which the person decided. */
  decidedAs?: string;
  decisionReason?: string;
  /** The arguments to run, if the approver changed them. */
  edited?: JsonObject;
  /** True once the run's log has the decision. */
  reported: boolean;
}

/** What a person decides. */
export interface NewDecision {
  approved: boolean;
  /** The key or member that decides. */
  by: string;
  as: string;
  reason?: string;
  edited?: JsonObject;
}

/** Filters approvals. All given properties must match. */
export interface ApprovalFilter {
  orgId?: string;
  agentId?: string;
  runId?: string;
  approvalId?: string;
  status?: ApprovalStatus;
  /** Only approvals in runs that this reader may see. */
  visibleTo?: VisibleTo;
  /**
   * Also those that one of these roles decides (default: any except `caller`), in runs with one of `ofRoles` (default:
   * any) or without a role. May add more where a role name contains another.
   */
  orDecidedBy?: { roles?: readonly string[] | undefined; ofRoles?: readonly string[] | undefined };
}

/**
 * Approvals. A run stores its requests with the step that makes them (`RunCommit.approvals`); deleting the run, by
 * thread erasure or retention, deletes them too.
 */
export interface ApprovalStore {
  get(agentId: string, approvalId: string): Promise<ApprovalRecord | undefined>;
  /** Newest first. Throws `invalid_request` for an invalid cursor. */
  list(filter: ApprovalFilter & PageAsked): Promise<Page<ApprovalRecord>>;
  /** A run's approvals, oldest request first. */
  ofRun(runId: string): Promise<ApprovalRecord[]>;
  /**
   * Stores a decision with its audit entry, if the approval is pending, has not expired, and its run is not being
   * cancelled. The last decision that a waiting run needs makes it due. `decided` is false when another outcome came
   * first; the approval then has that outcome. Undefined for an unknown approval.
   */
  decide(
    agentId: string,
    approvalId: string,
    decision: NewDecision,
  ): Promise<{ decided: boolean; approval: ApprovalRecord } | undefined>;
  /**
   * Marks the run's overdue approvals as expired; with `cancel`, cancels the other pending ones. Returns all the run's
   * approvals. From then on no other outcome can come first.
   */
  close(runId: string, options?: { cancel: boolean }): Promise<ApprovalRecord[]>;
}

/** The decision in the runtime's form; undefined unless a person approved the call. */
export function grantOf(approval: ApprovalRecord): GrantedApproval | undefined {
  const { status, decidedAs, decidedBy, decidedAt, edited, approvalId, argumentsHash, requestedBy } = approval;
  if (status !== "approved" || decidedAs === undefined || decidedBy === undefined || decidedAt === undefined)
    return undefined;
  return {
    approvalId,
    argumentsHash,
    ...(edited && { edited }),
    decidedAs,
    decidedBy,
    requestedBy,
    decidedAt: isoTime(decidedAt),
  };
}
