import type { Agent } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { resource } from "../api/queries.ts";

/** The agent whose pages are looked at; undefined on pages of the organisation, and until it is known. */
export function useAgentHere(): Agent | undefined {
  const { agentId } = useParams({ strict: false });
  return useQuery({
    ...resource("/agents/:agent_id", { params: { agent_id: agentId ?? "" } }),
    enabled: agentId !== undefined,
  }).data;
}
