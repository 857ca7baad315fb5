import { keepPreviousData, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { PAST } from "../../api/live.ts";
import { resource } from "../../api/queries.ts";
import { stepRange } from "../../charts/time-steps.ts";
import { rangeBefore, rangeOf } from "../../format/time-range.ts";
import { GuardedLink } from "../../ui/guarded-button.tsx";
import { EmptyState } from "../../ui/states.tsx";
import { AnalyticsView, PRESET, type AnalyticsSearch } from "./analytics-view.tsx";
import { stepsOf } from "./series-of.ts";

const route = getRouteApi("/shell/agents/$agentId/analytics");

/** How an agent's queries went over a range. A step of a chart leads to its runs. */
export function AgentAnalyticsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { agentId } = route.useParams();
  const params = { agent_id: agentId };
  const { role } = search;
  const figures = useQuery({
    ...resource("/agents/:agent_id/analytics", { params, query: { ...rangeOf(search, { preset: PRESET }), role } }),
    placeholderData: keepPreviousData,
  });
  const before = useQuery({
    ...resource("/agents/:agent_id/analytics", { params, query: { ...rangeBefore(search, { preset: PRESET }), role } }),
    meta: PAST,
    placeholderData: keepPreviousData,
  });
  const { data: agent } = useSuspenseQuery(resource("/agents/:agent_id", { params }));
  const functions = useQuery({
    ...resource("/agents/:agent_id/functions", { params }),
    // An agent that never had functions has no set, and no roles to suggest.
    enabled: agent.functions !== null,
  });
  const onSearch = (changed: AnalyticsSearch): void =>
    void navigate({ search: (current) => ({ ...current, ...changed }), replace: true });
  return (
    <AnalyticsView
      description="How this agent's queries went, and what they called and cost"
      search={search}
      onSearch={onSearch}
      figures={figures}
      before={before.data?.totals}
      roles={functions.data?.roles ?? []}
      agentId={agentId}
      open={(shown) => ({
        what: "see its runs",
        at: (index) => {
          const { at, end } = stepRange(stepsOf(shown), index);
          void navigate({ to: "/agents/$agentId/runs", params: { agentId }, search: { from: at, to: end, role } });
        },
      })}
      empty={
        <EmptyState
          icon="chart"
          title={role === undefined ? "No queries in this time" : `No queries as ${role} in this time`}
          action={
            <GuardedLink
              needs="developer"
              look="primary"
              link={<Link to="/agents/$agentId/playground" params={{ agentId }} />}
            >
              Ask in the playground
            </GuardedLink>
          }
        >
          Figures appear as soon as a query has ended. A longer time, or another role, may have some.
        </EmptyState>
      }
    />
  );
}
