import type { Agent, Store } from "../../ports/stores.ts";
import { notFound } from "../console-error.ts";

/** The agent of this id, where it is one of the organisation's: another one's is as good as none. */
export async function agentOf(store: Store, orgId: string, agentId: string): Promise<Agent> {
  const agent = await store.accounts.getAgent(agentId);
  if (agent?.orgId !== orgId) throw notFound("agent");
  return agent;
}
