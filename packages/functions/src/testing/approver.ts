import { type ApprovalRequest, CALLER, type JsonObject } from "@patchbay/protocol";

/** The decision of a person on a call that waits for an approval, as a test plays it. */
export interface PlayedDecision {
  approved: boolean;
  /** The role that decides. Default: the first one that may, for `"caller"` the role of the query. */
  as?: string;
  /** The model and the caller read the reason of a rejection. */
  reason?: string;
  /** The whole arguments with changes. Members that `edit` of the function does not name must be as the model wrote them. */
  arguments?: JsonObject;
}

/** Plays the person who decides on the calls of a query. */
export type Approver = (request: ApprovalRequest) => PlayedDecision | Promise<PlayedDecision>;

/** The body of a decision in the query API. */
export function decisionBody({ by }: Pick<ApprovalRequest, "by">, role: string | undefined, played: PlayedDecision) {
  const as = played.as ?? by.find((one) => one !== CALLER) ?? role;
  if (as === undefined) throw new TypeError("Only the caller may decide, and the query has no role. Give `as`.");
  return { ...played, as };
}
