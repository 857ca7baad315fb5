import type { StoredCall } from "@patchbay/protocol";

/** Reads ended calls for a comparison with another function set. */
export interface StoredCalls {
  /** A page of the ended calls of an agent, the newest first. */
  newest(
    agentId: string,
    page: { limit: number; cursor?: string },
  ): Promise<{ items: StoredCall[]; nextCursor: string | null }>;
}
