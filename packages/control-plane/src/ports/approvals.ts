import type { ApprovalStatus, GrantedApproval, JsonObject, JsonValue } from "@patchbay/protocol";

/** A request for the approval of a call, to be stored. */
export interface NewApproval {
  approvalId: string;
  callId: string;
  functionName: string;
  /** The arguments that the model wrote. */
  arguments: JsonValue;
  /** SHA-256 in hexadecimal of their canonical JSON. */
  argumentsHash: string;
  /** Why the owner's code asks for the approval. */
  reason?: string;
  /** The roles that may decide; `caller` stands for the role of the run. */
  by: readonly string[];
  /** Members of the arguments that a decision may change. */
  edit: readonly string[];
  /** True if the key or member that sent the query may not decide. */
  fourEyes: boolean;
  expiresAt: number;
}

/** A stored approval. Times are milliseconds of the database's clock. */
export interface ApprovalRecord extends NewApproval {
  orgId: string;
  agentId: string;
  runId: string;
  threadId: string;
  /** The role of the run. */
  role?: string;
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
  /** True once the log of the run has the decision. */
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

/** A filter of approvals. All given properties must match. */
export interface ApprovalFilter {
  orgId?: string;
  agentId?: string;
  runId?: string;
  approvalId?: string;
  status?: ApprovalStatus;
  /** Only approvals of runs with one of these roles, or without a role. */
  roles?: readonly string[];
}

/**
 * Approvals of calls. A run stores its requests with the step that makes them (`RunCommit.approvals`); its thread's erasure and its
 * retention delete them with it.
 */
export interface ApprovalStore {
  get(agentId: string, approvalId: string): Promise<ApprovalRecord | undefined>;
  /** Newest first. Throws `invalid_request` for an invalid cursor. */
  list(
    filter: ApprovalFilter & { limit: number; cursor?: string },
  ): Promise<{ items: ApprovalRecord[]; nextCursor: string | null }>;
  /** All approvals of a run, in the order of their requests. */
  ofRun(runId: string): Promise<ApprovalRecord[]>;
  /**
   * Stores a decision with its audit entry, if the approval is pending, has not expired, and its run is not being cancelled. With
   * the last decision that a waiting run needs, the run is due. `decided` is false when another outcome came first; the approval
   * then has that outcome. Undefined for an unknown approval.
   */
  decide(
    agentId: string,
    approvalId: string,
    decision: NewDecision,
  ): Promise<{ decided: boolean; approval: ApprovalRecord } | undefined>;
  /**
   * Stores the expiry of the run's pending approvals that have expired; with `cancel`, cancels the other pending ones. Returns all
   * approvals of the run. From then on no other outcome can come first.
   */
  close(runId: string, options?: { cancel: boolean }): Promise<ApprovalRecord[]>;
}

/** The decision as the runtime gets it; undefined unless a person approved the call. */
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
    decidedAt: new Date(decidedAt).toISOString(),
  };
}
