import type { Agent } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import { ApiError } from "../api/api-error.ts";
import { resource } from "../api/api.ts";
import type { RangeSearch } from "../format/time-range.ts";
import { chosenRange, lastAgentId, useSignal } from "../state/signals.ts";
import type { IconName } from "../ui/icon.tsx";

/** An agent's pages in menu order. `g` and then `key` opens one. */
export const AGENT_PAGES = [
  { to: "/agents/$agentId", label: "Overview", icon: "overview", key: "o" },
  { to: "/agents/$agentId/playground", label: "Playground", icon: "chat", key: "p" },
  { to: "/agents/$agentId/runs", label: "Runs", icon: "run", key: "r", ranged: true },
  { to: "/agents/$agentId/threads", label: "Threads", icon: "thread", key: "t" },
  { to: "/agents/$agentId/sessions", label: "Sessions", icon: "session", key: "s", ranged: true },
  { to: "/agents/$agentId/analytics", label: "Analytics", icon: "chart", key: "y", ranged: true },
  { to: "/agents/$agentId/functions", label: "Functions", icon: "function", key: "f", ranged: true },
  { to: "/agents/$agentId/access", label: "Access", icon: "access", key: "x" },
  { to: "/agents/$agentId/keys", label: "Keys", icon: "key", key: "k" },
  { to: "/agents/$agentId/runtimes", label: "Runtimes", icon: "plug", key: "c" },
  { to: "/agents/$agentId/webhook", label: "Webhook", icon: "send", key: "w" },
  { to: "/agents/$agentId/settings", label: "Settings", icon: "settings", key: "e" },
] as const satisfies Page[];

/** The organisation's pages. */
export const ORGANISATION_PAGES = [
  { to: "/agents", label: "Agents", icon: "agent", key: "a" },
  { to: "/analytics", label: "Analytics", icon: "chart", key: "n", ranged: true },
  { to: "/approvals", label: "Approvals", icon: "check", key: "v" },
  { to: "/credits", label: "Credits", icon: "credit", key: "$", ranged: true },
  { to: "/audit", label: "Audit", icon: "audit", key: "l", ranged: true },
  { to: "/members", label: "Members", icon: "members", key: "m" },
  { to: "/settings", label: "Organisation", icon: "organisation", key: "," },
] as const satisfies Page[];

export interface Page {
  to: string;
  label: string;
  icon: IconName;
  key: string;
  /** True for a page with a time range. */
  ranged?: true;
}

/** The page's agent id; on organisation pages, the previously shown agent's. */
export function useCurrentAgentId(): string | undefined {
  const { agentId } = useParams({ strict: false });
  const last = useSignal(lastAgentId);
  return agentId ?? last;
}

/** Search parameters for a link to another page: this page's time range, or else the one that the member chose last. */
export function useCarriedRange(): (page: Page) => RangeSearch {
  const { range, from, to }: RangeSearch = useSearch({ strict: false });
  const chosen = useSignal(chosenRange) ?? {};
  const carried = range === undefined && from === undefined ? chosen : { range, from, to };
  return ({ ranged }) => (ranged ? carried : {});
}

/** The agent behind `useCurrentAgentId`; undefined while it loads, and if it was deleted. */
export function useCurrentAgent(): Agent | undefined {
  const agentId = useCurrentAgentId();
  const { data, error } = useQuery({
    ...resource("/agents/:agent_id", { params: { agentId: agentId ?? "" } }),
    enabled: agentId !== undefined,
  });
  useEffect(() => {
    if (data) lastAgentId.set(data.agentId);
    else if (error instanceof ApiError && error.code === "not_found") lastAgentId.set(undefined);
  }, [data, error]);
  return data;
}
