import type { Budget, Share } from "../budget.ts";

/** Background work that one replica does for all. */
export type UpkeepName = "index" | "seals" | "sweep";

export interface Upkeep {
  /**
   * Runs `work` and returns true, or false at once if another replica runs work with this name. If a replica dies, the
   * name is free within a minute.
   */
  exclusively(name: UpkeepName, work: () => Promise<unknown>): Promise<boolean>;
  /**
   * A budget for one process. A batch costs its statements' processor time if they run in this process (the embedded
   * database), else the time that the database server takes for them.
   */
  budget(share: Share): Budget;
}
