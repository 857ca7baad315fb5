import type { StoredCall } from "@patchbay/protocol";
import type { Page, PageAsked } from "./page.ts";

/** Reads ended calls to compare them with another function set. */
export interface StoredCalls {
  /** One page with an agent's ended calls, newest first. */
  newest(agentId: string, page: PageAsked): Promise<Page<StoredCall>>;
}
