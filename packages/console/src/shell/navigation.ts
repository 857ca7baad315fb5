import type { Agent } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { resource } from "../api/api.ts";
import type { IconName } from "../ui/icon.tsx";

/** The pages of an agent in menu order. `g` and then `key` opens one. */
export const AGENT_PAGES = [
  { to: "/agents/$agentId", label: "Overview", icon: "overview", key: "o" },
  { to: "/agents/$agentId/playground", label: "Playground", icon: "chat", key: "p" },
  { to: "/agents/$agentId/runs", label: "Runs", icon: "run", key: "r" },
  { to: "/agents/$agentId/threads", label: "Threads", icon: "thread", key: "t" },
  { to: "/agents/$agentId/sessions", label: "Sessions", icon: "session", key: "s" },
  { to: "/agents/$agentId/analytics", label: "Analytics", icon: "chart", key: "y" },
  { to: "/agents/$agentId/functions", label: "Functions", icon: "function", key: "f" },
  { to: "/agents/$agentId/access", label: "Access", icon: "access", key: "x" },
  { to: "/agents/$agentId/keys", label: "Keys", icon: "key", key: "k" },
  { to: "/agents/$agentId/runtimes", label: "Runtimes", icon: "plug", key: "c" },
  { to: "/agents/$agentId/settings", label: "Settings", icon: "settings", key: "e" },
] as const satisfies Page[];

/** The pages of the organisation. */
export const ORGANISATION_PAGES = [
  { to: "/agents", label: "Agents", icon: "agent", key: "a" },
  { to: "/analytics", label: "Analytics", icon: "chart", key: "n" },
  { to: "/credits", label: "Credits", icon: "credit", key: "$" },
  { to: "/audit", label: "Audit", icon: "audit", key: "l" },
  { to: "/members", label: "Members", icon: "members", key: "m" },
  { to: "/settings", label: "Organisation", icon: "organisation", key: "," },
] as const satisfies Page[];

interface Page {
  to: string;
  label: string;
  icon: IconName;
  key: string;
}

/** The agent of the current page; undefined on pages of the organisation and while it loads. */
export function useCurrentAgent(): Agent | undefined {
  const { agentId } = useParams({ strict: false });
  return useQuery({
    ...resource("/agents/:agent_id", { params: { agentId: agentId ?? "" } }),
    enabled: agentId !== undefined,
  }).data;
}
