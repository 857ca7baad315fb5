import type { ConsoleRole, Found } from "@patchbay/protocol/console";
import type { Engine } from "../../store/engine.ts";

/** Of each kind. */
export const MOST = 5;

/** The member who searches. */
export interface Searcher {
  orgId: string;
  memberId: string;
  role: ConsoleRole;
}

/** Finds things of one kind. */
export type Search = (engine: Engine, by: Searcher, q: string) => Promise<Found[]>;
