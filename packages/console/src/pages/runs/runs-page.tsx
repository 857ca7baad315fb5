import type { RunSummary } from "@patchbay/protocol/console";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { list, resource, useSession } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { rangeOf } from "../../format/time-range.ts";
import { runs as searchOfRuns } from "../../state/page-search.ts";
import { Button } from "../../ui/button.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { download } from "../../ui/download.ts";
import { type Filter, FilterBar } from "../../ui/filter-bar.tsx";
import { Card, EmptyState, PageHeader } from "../../ui/page.tsx";
import { Menu, MenuItem, MenuSection } from "../../ui/popover.tsx";
import { Snippets } from "../../ui/snippet.tsx";
import { TimeRange } from "../../ui/time-range.tsx";
import { PlaygroundLink } from "../playground/playground-link.tsx";
import { runColumns, SOURCE_LABELS } from "./run-columns.tsx";
import { isActive } from "./use-run-trace.ts";

const route = getRouteApi("/shell/agents/$agentId/runs");

/** Longer than the default of figures, because many agents are not queried every day. */
const PRESET = "30d";
/** Refresh interval for the durations of running runs. */
const ACTIVE_MS = 5_000;

/** The runs of an agent, latest first. */
export function RunsPage() {
  const { agentId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { range, from, to, ...filters } = search;
  const query = { ...filters, ...rangeOf({ range, from, to }, { preset: PRESET }) };
  const runs = useInfiniteQuery({
    ...list("/agents/:agent_id/runs", { params: { agentId }, query }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ items }) => items.some(({ status }) => isActive(status))) ? ACTIVE_MS : false,
  });
  const change = (changed: { [Name in keyof typeof search]?: string | undefined }) =>
    void navigate({ search: (before) => searchOfRuns({ ...before, ...withoutRole(changed) }), replace: true });
  const longestMs = Math.max(1, ...(runs.data ?? []).map(({ durationMs }) => durationMs));
  return (
    <>
      <PageHeader title="Runs" actions={<ExportRuns agentId={agentId} runs={runs.data ?? []} />}>
        <FilterBar
          filters={useFilters(agentId, search)}
          values={{ ...search, ...(search.noRole && { role: NO_ROLE }) }}
          onChange={change}
        >
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

/** The suggestion of the role filter that finds runs without a role. */
const NO_ROLE = "No role";

/** A role can have any name, so "No role" is a parameter of its own. */
const withoutRole = (changed: { role?: string | undefined }) =>
  !("role" in changed)
    ? changed
    : changed.role === NO_ROLE
      ? { ...changed, role: undefined, noRole: "1" }
      : { ...changed, noRole: undefined };

type FilterName = "q" | "status" | "role" | "functionName" | "trouble" | "source" | "sessionId" | "threadId" | "keyId";

/** The filters of the list; those by thread and key appear only if a link set them. */
function useFilters(agentId: string, search: { [Name in FilterName]?: string | undefined }): Filter<FilterName>[] {
  const { data: set } = useQuery({
    ...resource("/agents/:agent_id/functions", { params: { agentId } }),
    // Fails for an agent that never had a runtime: then nothing is suggested.
    retry: false,
  });
  const byId = [
    { kind: "text", name: "threadId", label: "Thread", suggestions: [] },
    { kind: "text", name: "keyId", label: "Key", suggestions: [] },
  ] as const;
  return [
    { kind: "search", name: "q", label: "Search query or ID" },
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
        { value: "denied", label: "Has a denied call" },
        { value: "failed", label: "Has a failed call" },
      ],
    },
    {
      kind: "choice",
      name: "source",
      label: "Source",
      options: Object.entries(SOURCE_LABELS).map(([value, label]) => ({ value, label })),
    },
    { kind: "text", name: "role", label: "Role", suggestions: [NO_ROLE, ...(set?.roles ?? [])] },
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
      <EmptyState icon="search" title="No matching runs">
        Clear filters or choose a longer time range.
      </EmptyState>
    );
  return (
    <div className="pb-8">
      <EmptyState icon="run" title="No runs yet" action={<PlaygroundLink agentId={agentId} />}>
        Queries appear here as soon as they are accepted. Send the first one:
      </EmptyState>
      <div className="mx-auto max-w-2xl px-4">
        <Snippets baseUrl={baseUrl} agentId={agentId} body={{ query: "What can you do?" }} />
      </div>
    </div>
  );
}

/** Saves the loaded runs as a file. */
function ExportRuns({ agentId, runs }: { agentId: string; runs: readonly RunSummary[] }) {
  const name = `runs-${agentId}`;
  const lines = () => runs.map((run) => `${JSON.stringify(run)}\n`).join("");
  return (
    <Menu trigger={<Button icon="download">Export</Button>}>
      <MenuSection title={`${countOf(runs.length, "run")} shown`}>
        <MenuItem
          disabled={runs.length === 0}
          onSelect={() => download(`${name}.json`, "application/json", JSON.stringify(runs, null, 2))}
        >
          JSON
        </MenuItem>
        <MenuItem
          disabled={runs.length === 0}
          onSelect={() => download(`${name}.ndjson`, "application/x-ndjson", lines())}
        >
          NDJSON, one run per line
        </MenuItem>
      </MenuSection>
    </Menu>
  );
}
