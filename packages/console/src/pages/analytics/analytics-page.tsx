import type { Analytics } from "@patchbay/protocol/console";
import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { resource } from "../../api/api.ts";
import { stepRange } from "../../charts/time-steps.ts";
import { toPage } from "../../state/addresses.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { classNames } from "../../ui/class-names.ts";
import { FilterBar } from "../../ui/table/filter-bar.tsx";
import { IndexNote } from "../../ui/index-note.tsx";
import { EmptyState, Loaded, PageHeader } from "../../ui/page.tsx";
import { TimeRange } from "../../ui/form/time-range.tsx";
import { PlaygroundLink } from "../../parts/playground/playground-link.tsx";
import { SOURCE_LABELS } from "../../parts/run/run-facts.ts";
import { Breakdowns, FunctionsTable, ModelsTable } from "./breakdowns.tsx";
import type { Scope } from "../../parts/figures/runs-link.tsx";
import { queriesOf, stepsOf } from "../../parts/figures/series.ts";
import {
  type AnalyticsSearch,
  Totals,
  TotalsSkeleton,
  Trends,
  TrendsSkeleton,
  useFigures,
} from "../../parts/figures/totals.tsx";

const route = getRouteApi("/shell/analytics");

/** Figures for all agents over a time range; a click on a chart interval selects it. */
export function AnalyticsPage() {
  const navigate = route.useNavigate();
  return (
    <AnalyticsView
      search={route.useSearch()}
      onSearch={useSearchChange(route, { toTop: true })}
      onInterval={({ at, end }) =>
        void navigate({ search: (current) => ({ ...current, range: undefined, from: at, to: end }) })
      }
    />
  );
}

/** The default range; a day shows little trend. */
const PRESET = "7d";

/** Sources other than production, which is client queries. */
const SOURCES = [
  { value: "all", label: "All" },
  ...Object.entries(SOURCE_LABELS).map(([value, label]) => ({ value, label })),
];

interface AnalyticsViewProps {
  search: AnalyticsSearch;
  onSearch: (changed: { [Name in keyof AnalyticsSearch]?: string | undefined }) => void;
  /** Set on an agent's page. */
  agentId?: string | undefined;
  /** Suggestions for the filter. Default: the roles in the figures. */
  roles?: readonly string[];
  /** Called on a click on a chart interval. */
  onInterval: (interval: ReturnType<typeof stepRange>) => void;
}

/** Figures for one agent or all. */
function AnalyticsView(props: AnalyticsViewProps) {
  const { search, onSearch, agentId } = props;
  const { figures, before } = useFigures({ agentId, search, preset: PRESET });
  const { roles = figures.data?.roles.flatMap(({ role }) => role ?? []) ?? [] } = props;
  return (
    <>
      <PageHeader
        title="Analytics"
        description={`Queries, calls and cost of ${agentId === undefined ? "all agents" : "this agent"}`}
      >
        <FilterBar
          filters={[
            { kind: "choice", name: "source", label: "Source", any: "Production", options: SOURCES },
            { kind: "text", name: "role", label: "Role", suggestions: roles },
          ]}
          values={search}
          onChange={onSearch}
        >
          <TimeRange value={search} onChange={onSearch} preset={PRESET} />
        </FilterBar>
      </PageHeader>
      <Loaded
        query={figures}
        loading={
          <div className="grid gap-4">
            <TotalsSkeleton />
            <TrendsSkeleton />
          </div>
        }
      >
        {(shown) => (
          <div
            aria-busy={figures.isPlaceholderData}
            className={classNames("transition-opacity", figures.isPlaceholderData && "opacity-60")}
          >
            <IndexNote to={shown.indexedTo} />
            <Content {...props} figures={shown} before={before} />
          </div>
        )}
      </Loaded>
    </>
  );
}

interface ContentProps extends AnalyticsViewProps {
  figures: Analytics;
  /** Totals for the previous range with the same length. */
  before: Analytics["totals"] | undefined;
}

function Content({ figures, before, agentId, search, onSearch, onInterval }: ContentProps) {
  const { totals, functions, models, agents } = figures;
  if (queriesOf(totals) === 0 && functions.length === 0 && models.length === 0)
    return (
      <EmptyState
        icon="chart"
        title={`No queries${search.role === undefined ? "" : ` as ${search.role}`} in this time range`}
        action={
          <span className="flex flex-wrap justify-center gap-2">
            {search.source === undefined && (
              <Button onClick={() => onSearch({ source: "all" })}>Include queries from the console</Button>
            )}
            {agentId === undefined ? (
              <LinkButton to="/agents" look="primary">
                Go to agents
              </LinkButton>
            ) : (
              <PlaygroundLink agentId={agentId} />
            )}
          </span>
        }
      >
        Choose a longer time range, another role or another source.
      </EmptyState>
    );
  const { range, from, to } = search;
  const scope: Scope = {
    agents: agentId === undefined ? agents : [{ agentId }],
    search: { ...runsSearch(search), range: range ?? (from ? undefined : PRESET), from, to },
    onSearch,
  };
  const open = {
    what: agentId === undefined ? "select this interval" : "open its runs",
    at: (index: number) => onInterval(stepRange(stepsOf(figures), index)),
  };
  return (
    <div className="grid gap-4">
      <Totals figures={figures} before={before} scope={scope} />
      <Trends figures={figures} open={open} />
      <FunctionsTable functions={functions} agentId={agentId} scope={scope} />
      <div className="grid items-start gap-4 xl:grid-cols-2">
        <Breakdowns figures={figures} agentId={agentId} scope={scope} />
      </div>
      <ModelsTable models={models} scope={scope} />
    </div>
  );
}

/** The page's role and source, as run list search parameters. */
const runsSearch = ({ role, source = "production" }: AnalyticsSearch) => ({
  role,
  ...(source !== "all" && { source }),
});

const agentRoute = getRouteApi("/shell/agents/$agentId/analytics");

/** One agent's figures over a time range; a click on a chart interval opens its runs. */
export function AgentAnalyticsPage() {
  const search = agentRoute.useSearch();
  const navigate = agentRoute.useNavigate();
  const { agentId } = agentRoute.useParams();
  const params = { agentId };
  const { data: agent } = useSuspenseQuery(resource("/agents/:agent_id", { params }));
  const functions = useQuery({
    ...resource("/agents/:agent_id/functions", { params }),
    // Fails for an agent that never had functions.
    enabled: agent.functions !== null,
  });
  return (
    <AnalyticsView
      agentId={agentId}
      search={search}
      onSearch={useSearchChange(agentRoute, { toTop: true })}
      roles={functions.data?.roles ?? []}
      onInterval={({ at, end }) =>
        void navigate({ ...toPage(agentId, "runs"), search: { from: at, to: end, ...runsSearch(search) } })
      }
    />
  );
}
