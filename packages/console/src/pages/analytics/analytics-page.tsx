import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { PAST } from "../../api/live.ts";
import { resource } from "../../api/queries.ts";
import { stepRange } from "../../charts/time-steps.ts";
import { rangeBefore, rangeOf } from "../../format/time-range.ts";
import { buttonClass } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/states.tsx";
import { AnalyticsView, PRESET, type AnalyticsSearch } from "./analytics-view.tsx";
import { stepsOf } from "./series-of.ts";

const route = getRouteApi("/shell/analytics");

/** How the queries of all agents went over a range. A step of a chart narrows the page to its time. */
export function AnalyticsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { role } = search;
  const figures = useQuery({
    ...resource("/analytics", { query: { ...rangeOf(search, { preset: PRESET }), role } }),
    placeholderData: keepPreviousData,
  });
  const before = useQuery({
    ...resource("/analytics", { query: { ...rangeBefore(search, { preset: PRESET }), role } }),
    meta: PAST,
    placeholderData: keepPreviousData,
  });
  const onSearch = (changed: AnalyticsSearch): void =>
    void navigate({ search: (current) => ({ ...current, ...changed }), replace: true });
  return (
    <AnalyticsView
      description="How the queries of all agents went, and what they called and cost"
      search={search}
      onSearch={onSearch}
      figures={figures}
      before={before.data?.totals}
      roles={figures.data?.roles.flatMap((of) => of.role ?? []) ?? []}
      open={(shown) => ({
        what: "see this time alone",
        at: (index) => {
          const { at, end } = stepRange(stepsOf(shown), index);
          void navigate({ search: (current) => ({ ...current, range: undefined, from: at, to: end }) });
        },
      })}
      empty={
        <EmptyState
          icon="chart"
          title={role === undefined ? "No queries in this time" : `No queries as ${role} in this time`}
          action={
            <Link to="/agents" className={buttonClass("primary")}>
              Go to the agents
            </Link>
          }
        >
          Figures of all agents appear as soon as a query has ended. A longer time, or another role, may have some.
        </EmptyState>
      }
    />
  );
}
