import { createCounts } from "@patchbay/engine/ports/by-key";

/** An agent with due deliveries, whose webhook is a receiver. */
export interface DueAgent {
  orgId: string;
  agentId: string;
}

/** An organisation takes a slot while it has less than this many times the free ones, so that others find some. */
const SHARE = 3;

/**
 * Which agents get a sender's slots. Organisations take turns, and so do each one's agents: neither an organisation
 * with thousands of slow receivers nor a receiver with many deliveries delays others.
 */
export function createTurns(slots: number) {
  const waiting = new Map<string, Set<string>>();
  const held = createCounts();
  let free = slots;
  const hold = (orgId: string, change: 1 | -1): void => {
    free -= change;
    held.add(orgId, change);
  };
  return {
    /** Does nothing for an agent that already waits. */
    add({ orgId, agentId }: DueAgent): void {
      const agents = waiting.get(orgId) ?? new Set();
      waiting.set(orgId, agents.add(agentId));
    },
    /**
     * Gives a slot to an agent from the organisation with the fewest slots, which among these has waited longest.
     * Undefined when no organisation may take one.
     */
    take(): DueAgent | undefined {
      let fewest = SHARE * free;
      let next: string | undefined;
      for (const orgId of waiting.keys()) {
        const slots = held.of(orgId);
        if (slots < fewest) [fewest, next] = [slots, orgId];
      }
      if (next === undefined) return undefined;
      const agents = waiting.get(next)!;
      const agentId = agents.values().next().value!;
      agents.delete(agentId);
      waiting.delete(next);
      if (agents.size > 0) waiting.set(next, agents);
      hold(next, 1);
      return { orgId: next, agentId };
    },
    /** Frees the slot from `take`. */
    release: ({ orgId }: DueAgent): void => hold(orgId, -1),
  };
}
