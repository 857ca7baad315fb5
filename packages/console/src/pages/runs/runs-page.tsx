import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { list, resource } from "../../api/queries.ts";
import { rangeOf } from "../../format/time-range.ts";
import { runs as searchOfRuns } from "../../page-search.ts";
import { Card } from "../../ui/card.tsx";
import { GuardedLink } from "../../ui/guarded-button.tsx";
import { Snippets } from "../../ui/snippet.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { FilterBar, type Filter } from "../../ui/filter-bar.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { EmptyState } from "../../ui/states.tsx";
import { TimeRange } from "../../ui/time-range.tsx";
import { useSession } from "../../state/session.ts";
import { ExportRuns } from "./export-runs.tsx";
import { runColumns } from "./run-columns.tsx";
import { SOURCE_WORDS } from "./sources.ts";
import { isActive } from "./use-run-trace.ts";

const route = getRouteApi("/shell/agents/$agentId/runs");

/** Lists of runs reach further back than figures do: few agents are asked every day. */
const PRESET = "30d";
/** How often durations of runs that go on are brought up to date. */
const ACTIVE_MS = 5_000;

/** Every run of an agent, newest first. */
export function RunsPage() {
  const { agentId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { range, from, to, ...filters } = search;
  const query = { ...filters, ...rangeOf({ range, from, to }, { preset: PRESET }) };
  const runs = useInfiniteQuery({
    ...list("/agents/:agent_id/runs", { params: { agent_id: agentId }, query }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ items }) => items.some(({ status }) => isActive(status))) ? ACTIVE_MS : false,
  });
  const change = (changed: { [Name in keyof typeof search]?: string | undefined }) =>
    void navigate({ search: (before) => searchOfRuns({ ...before, ...changed }), replace: true });
  const longestMs = Math.max(1, ...(runs.data ?? []).map(({ durationMs }) => durationMs));
  return (
    <>
      <PageHeader title="Runs" actions={<ExportRuns agentId={agentId} runs={runs.data ?? []} />}>
        <FilterBar filters={useFilters(agentId, search)} values={search} onChange={change}>
          <TimeRange value={search} preset={PRESET} onChange={change} />
        </FilterBar>
      </PageHeader>
      <Card flush>
        <DataTable
          caption="Runs"
          query={runs}
          columns={runColumns(longestMs)}
          rowKey={({ runId }) => runId}
          link={({ runId }, props) => <Link to="/agents/$agentId/runs/$runId" params={{ agentId, runId }} {...props} />}
          empty={<NoRuns agentId={agentId} filtered={Object.keys(search).length > 0} />}
        />
      </Card>
    </>
  );
}

type FilterName = "q" | "status" | "role" | "functionName" | "trouble" | "source" | "sessionId" | "threadId" | "keyId";

/** Filters by an id are there where a link brought one along. */
function useFilters(agentId: string, search: { [Name in FilterName]?: string | undefined }): Filter<FilterName>[] {
  const { data: set } = useQuery({
    ...resource("/agents/:agent_id/functions", { params: { agent_id: agentId } }),
    // An agent that never had a runtime has none.
    retry: false,
  });
  const byId = [
    { kind: "text", name: "threadId", label: "Thread", suggestions: [] },
    { kind: "text", name: "keyId", label: "Key", suggestions: [] },
  ] as const;
  return [
    { kind: "search", name: "q", label: "Words of the query, or an id" },
    {
      kind: "choice",
      name: "status",
      label: "Status",
      options: ["queued", "running", "succeeded", "failed", "cancelled"],
    },
    {
      kind: "choice",
      name: "trouble",
      label: "Calls",
      options: [
        { value: "denied", label: "with one denied" },
        { value: "failed", label: "with one failed" },
      ],
    },
    {
      kind: "choice",
      name: "source",
      label: "Source",
      options: Object.entries(SOURCE_WORDS).map(([value, label]) => ({ value, label })),
    },
    { kind: "text", name: "role", label: "Role", suggestions: set?.roles ?? [] },
    {
      kind: "text",
      name: "functionName",
      label: "Function",
      suggestions: set?.functions.map(({ name }) => name) ?? [],
    },
    { kind: "text", name: "sessionId", label: "Session", suggestions: [] },
    ...byId.filter(({ name }) => search[name] !== undefined),
  ];
}

function NoRuns({ agentId, filtered }: { agentId: string; filtered: boolean }) {
  const { baseUrl } = useSession();
  if (filtered)
    return (
      <EmptyState icon="search" title="No run fits these filters">
        Clear some of them, or look further back in time.
      </EmptyState>
    );
  return (
    <div className="pb-8">
      <EmptyState
        icon="run"
        title="No runs yet"
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
        Every query is a run, and stands here from the moment it is accepted. Send the first one:
      </EmptyState>
      <div className="mx-auto max-w-2xl px-4">
        <Snippets baseUrl={baseUrl} agentId={agentId} body={{ query: "Which orders are late?" }} />
      </div>
    </div>
  );
}
