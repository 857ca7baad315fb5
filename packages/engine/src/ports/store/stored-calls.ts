import type { StoredCall } from "@patchbay/protocol";

/** Reads ended calls to compare them with another function set. */
export interface StoredCalls {
  /** One page with an agent's ended calls, newest first. */
  newest(
    agentId: string,
    page: { limit: number; cursor?: string },
  ): Promise<{ items: StoredCall[]; nextCursor: string | null }>;
}
