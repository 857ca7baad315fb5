import { type ApprovalRequest, CALLER } from "@patchbay/protocol";
import { type JsonObject } from "@patchbay/kit";

/** A person's decision on a call that waits for an approval, as a test plays it. */
export interface PlayedDecision {
  approved: boolean;
  /** The role that decides. Default: the first one that may, for `"caller"` the query's role. */
  as?: string;
  /** The model and the caller read a rejection's reason. */
  reason?: string;
  /** The whole arguments with changes. Members that the function's `edit` does not name must be as the model wrote them. */
  arguments?: JsonObject;
}

/** Plays the person who decides on a query's calls. */
export type Approver = (request: ApprovalRequest) => PlayedDecision | Promise<PlayedDecision>;

/** A decision's body in the query API. */
export function decisionBody({ by }: Pick<ApprovalRequest, "by">, role: string | undefined, played: PlayedDecision) {
  const as = played.as ?? by.find((name) => name !== CALLER) ?? role;
  if (as === undefined) throw new TypeError("Only the caller may decide, and the query has no role. Give `as`.");
  return { ...played, as };
}
