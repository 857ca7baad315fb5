import type { StreamOwner } from "../../http/open-streams.ts";
import type { Caller } from "../../run/api.ts";
import type { SignedIn } from "../handler.ts";

/** A member asks as any role: what it may do is decided by its role in the console. */
export function callerOf({ memberId, orgId, tier }: SignedIn, agentId: string): Caller {
  return { keyId: memberId, agentId, orgId, tier };
}

/** Streams of a member end soon after the session does. */
export function ownerOf({ memberId, orgId, sessionId }: SignedIn): StreamOwner {
  return { orgId, keyId: memberId, access: { kind: "session", id: sessionId } };
}
