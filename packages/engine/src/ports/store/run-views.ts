/** A run list's filters and order, stored under a name. */
export interface RunView {
  viewId: string;
  orgId: string;
  agentId: string;
  /** The author. */
  memberId: string;
  name: string;
  /** Shown to all members in the organisation, not only to the author. */
  shared: boolean;
  /** The page's search parameters. */
  search: Record<string, string>;
}

/** Saved run list views. */
export interface ViewStore {
  /** The member's own views and others' shared ones, oldest first. */
  list(orgId: string, agentId: string, memberId: string): Promise<RunView[]>;
  /** False when the agent already has 200 shared views or, for a private view, this member has 200 private ones. */
  add(view: RunView): Promise<boolean>;
  /** Removes the member's view, or with `anyShared` any shared one. False when it finds none. */
  remove(view: Pick<RunView, "viewId" | "orgId" | "agentId" | "memberId"> & { anyShared: boolean }): Promise<boolean>;
}
