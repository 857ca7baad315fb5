import type { Caller } from "../../run/api.ts";
import type { SignedIn } from "../handler.ts";

/** A member asks as any role: what it may do is decided by its role in the console. */
export function callerOf({ memberId, orgId, tier }: SignedIn, agentId: string): Caller {
  return { keyId: memberId, agentId, orgId, tier };
}
