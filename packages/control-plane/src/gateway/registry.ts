import type { Link } from "./link.ts";

/** The links of this replica that are open now, by agent and runtime. */
export interface Registry {
  /** Makes the link its runtime's current one and returns the one it replaces. */
  add(link: Link): Link | undefined;
  /** Removes the link if it is still its runtime's current one; a replaced link removes nothing. */
  remove(link: Link): boolean;
  find(agentId: string, instanceId: string): Link | undefined;
  has(agentId: string): boolean;
  /** The agent's links, oldest first. */
  of(agentId: string): Link[];
  all(): Link[];
  readonly size: number;
}

export function createRegistry(): Registry {
  const agents = new Map<string, Map<string, Link>>();
  let size = 0;

  function drop(link: Link): void {
    const { agentId, instanceId } = link.identity;
    const links = agents.get(agentId);
    links?.delete(instanceId);
    if (links?.size === 0) agents.delete(agentId);
    size--;
  }

  return {
    add(link) {
      const { agentId, instanceId } = link.identity;
      const previous = agents.get(agentId)?.get(instanceId);
      if (previous) drop(previous);
      const links = agents.get(agentId) ?? new Map<string, Link>();
      agents.set(agentId, links.set(instanceId, link));
      size++;
      return previous;
    },
    remove(link) {
      const { agentId, instanceId } = link.identity;
      if (agents.get(agentId)?.get(instanceId) !== link) return false;
      drop(link);
      return true;
    },
    find: (agentId, instanceId) => agents.get(agentId)?.get(instanceId),
    has: (agentId) => agents.has(agentId),
    of: (agentId) => [...(agents.get(agentId)?.values() ?? [])],
    all: () => [...agents.values()].flatMap((links) => [...links.values()]),
    get size() {
      return size;
    },
  };
}
