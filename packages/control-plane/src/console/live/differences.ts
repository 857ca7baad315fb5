import type { Change } from "@patchbay/protocol/console";
import type { AgentSigns, ListSigns } from "../../ports/console-agents.ts";

type Topic = Change["topics"][number];

export const TOPICS: readonly Topic[] = ["agents", "runtimes", "runs", "credentials", "credits", "members"];
const OF_AGENTS = ["agents", "runtimes", "runs", "credentials"] as const;

/** What changed between two looks at an organisation; of its agents' lists those of `agentId` alone, where one is named. */
export function differences(before: ListSigns, now: ListSigns, agentId: string | undefined): Topic[] {
  const agents = agentId === undefined ? new Set([...before.agents.keys(), ...now.agents.keys()]) : [agentId];
  const changed = new Set<Topic>();
  for (const id of agents) {
    const [was, is] = [before.agents.get(id), now.agents.get(id)];
    for (const topic of OF_AGENTS) if (differs(was, is, topic)) changed.add(topic);
  }
  if (before.credits !== now.credits) changed.add("credits");
  if (before.members !== now.members) changed.add("members");
  return TOPICS.filter((topic) => changed.has(topic));
}

const differs = (was: AgentSigns | undefined, is: AgentSigns | undefined, topic: keyof AgentSigns): boolean =>
  was?.[topic] !== is?.[topic];
