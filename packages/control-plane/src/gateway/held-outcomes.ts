import type { CallOutcome } from "@patchbay/protocol";
import type { CallAddress } from "../ports/function-gateway.ts";
import type { Link } from "./link.ts";

const HOLD_MS = 60_000;
const HOLD_COUNT = 10_000;
const HOLD_BYTES = 33_554_432;

interface HeldOutcome extends CallAddress {
  outcome: CallOutcome;
  sizeBytes: number;
  at: number;
}

/**
 * Results nobody waits for: of calls that an earlier process sent, or whose run gave up waiting. They are held a minute for
 * a run that comes to ask. What is pushed out by the bounds is not lost: unacknowledged, it stays with its runtime.
 */
export interface HeldOutcomes {
  /** False when the call is over already: its result is to be acknowledged, not held. */
  add(link: Link, callId: string, outcome: CallOutcome, sizeBytes: number): boolean;
  take(call: CallAddress): CallOutcome | undefined;
  /** The call is over: what is held of it goes, and what comes of it in the next minute is not held. */
  forget(call: CallAddress): void;
  /** Removes and returns what nobody asked for in time. */
  expire(): HeldOutcome[];
}

export function createHeldOutcomes(now: () => number): HeldOutcomes {
  const held = new Map<string, HeldOutcome>();
  const over = new Map<string, number>();
  let totalBytes = 0;

  function remove(key: string): HeldOutcome | undefined {
    const one = held.get(key);
    if (!one) return undefined;
    held.delete(key);
    totalBytes -= one.sizeBytes;
    return one;
  }

  return {
    add(link, callId, outcome, sizeBytes) {
      const { agentId, instanceId } = link.identity;
      const key = keyOf({ agentId, callId, instanceId });
      if (over.has(key)) return false;
      remove(key);
      held.set(key, { agentId, callId, instanceId, outcome, sizeBytes, at: now() });
      totalBytes += sizeBytes;
      for (const oldest of held.keys()) {
        if (held.size <= HOLD_COUNT && totalBytes <= HOLD_BYTES) break;
        remove(oldest);
      }
      return true;
    },
    take: (call) => remove(keyOf(call))?.outcome,
    forget(call) {
      const key = keyOf(call);
      remove(key);
      over.set(key, now());
      if (over.size > HOLD_COUNT) over.delete(over.keys().next().value ?? key);
    },
    expire() {
      const horizon = now() - HOLD_MS;
      for (const [key, at] of over) {
        if (at > horizon) break;
        over.delete(key);
      }
      const expired: HeldOutcome[] = [];
      for (const [key, one] of held) {
        if (one.at > horizon) break;
        remove(key);
        expired.push(one);
      }
      return expired;
    },
  };
}

/** Ids that a runtime chose may hold any separator. */
function keyOf({ agentId, callId, instanceId }: CallAddress): string {
  return JSON.stringify([agentId, instanceId, callId]);
}
