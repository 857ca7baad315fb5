/** Filters and an order of a list of runs, kept under a name. */
export interface RunView {
  viewId: string;
  orgId: string;
  agentId: string;
  /** The author. */
  memberId: string;
  name: string;
  /** Shown to all members of the organisation, not only to the author. */
  shared: boolean;
  /** Search parameters of the page. */
  search: Record<string, string>;
}

/** Views of lists of runs. */
export interface ViewStore {
  /** The member's own views and the shared ones of others, oldest first. */
  list(orgId: string, agentId: string, memberId: string): Promise<RunView[]>;
  /** False when the agent already has 200 shared views or, for a private view, 200 private ones of this member. */
  add(view: RunView): Promise<boolean>;
  /** Removes a view of the member, or with `anyShared` any shared one. False when it finds none. */
  remove(view: Pick<RunView, "viewId" | "orgId" | "agentId" | "memberId"> & { anyShared: boolean }): Promise<boolean>;
}
