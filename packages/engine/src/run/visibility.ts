import { CALLER, type Inclusions } from "@patchbay/protocol";
import type { ApprovalFilter, ApprovalRecord } from "../ports/store/approvals.ts";
import type { ProvenCaller, VisibleTo } from "../ports/callers.ts";
import type { RunRecord } from "../ports/records.ts";
import { mayState, statable } from "./role-check.ts";

/**
 * What a reader may see in its agent. All code that reads or changes runs, threads, sessions and approvals uses this
 * module.
 */

/** The part of a principal that decides. */
interface Reader {
  roles?: readonly string[];
  /** The key's roles where `roles` are narrowed. */
  pinned?: readonly string[] | undefined;
  inclusions?: Inclusions | undefined;
  /** The request's client token. */
  fixed?: object;
  proven?: Pick<ProvenCaller, "ids">;
}

/** The filter for lists, and for reads by id. */
export const visibleTo = (reader: Reader): VisibleTo => ({ roles: statable(reader), callers: reader.proven?.ids });

/** A run is visible to keys that may state its role, and with a caller's token only to that caller. */
export const isVisible = (reader: Reader, run: Pick<RunRecord, "role" | "callerId">): boolean =>
  mayState(reader, run.role) && isOfCaller(reader, run);

/** True for the run's caller, and for a principal that no token narrows. */
export const isOfCaller = ({ proven }: Reader, { callerId }: Pick<RunRecord, "callerId">): boolean =>
  !proven || (callerId !== undefined && proven.ids.includes(callerId));

/**
 * An approval is visible to readers of its run, and to callers with a role that decides it, if the key may read its
 * role.
 */
export const isApprovalVisible = (reader: Reader, approval: ApprovalRecord): boolean =>
  isVisible(reader, approval) ||
  (reader.proven !== undefined &&
    !reader.fixed &&
    mayState({ ...reader, roles: reader.pinned }, approval.role) &&
    approval.by.some((role) => role !== CALLER && mayState(reader, role)));

/** As `isApprovalVisible`, but may contain more. */
export const visibleApprovals = (reader: Reader): Pick<ApprovalFilter, "visibleTo" | "orDecidedBy"> => ({
  visibleTo: visibleTo(reader),
  ...(reader.proven && {
    orDecidedBy: { roles: statable(reader), ofRoles: statable({ ...reader, roles: reader.pinned }) },
  }),
});
