import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { list, pathOfKey, queryClient, useList, useSession } from "../../api/api.ts";
import { refetchChanged } from "../../api/refresh-list.ts";
import { runs as searchOfRuns } from "../../state/page-search.ts";
import { Button } from "../../ui/button.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { EmptyState, PageHeader } from "../../ui/page.tsx";
import { Menu, MenuChecks, MenuChoice, MenuSection, MenuSeparator } from "../../ui/popover.tsx";
import { Snippets } from "../../ui/snippet.tsx";
import { PlaygroundLink } from "../playground/playground-link.tsx";
import { ExportMenu } from "./export-menu.tsx";
import { chosenColumns, RUN_COLUMNS, runColumns, useRunColumns } from "./run-columns.tsx";
import { filterOf, lastOfRuns, RunFilters, type RunsSearch } from "./run-filters.tsx";
import { RunSums } from "./run-sums.tsx";
import { RunViews } from "./run-views.tsx";
import { isActive } from "./use-run-trace.ts";

const route = getRouteApi("/shell/agents/$agentId/runs");

/** Refresh interval for the durations of running runs. */
const ACTIVE_MS = 5_000;
const NEWEST = "-createdAt";

/** The runs of an agent, latest first or in another order, with filters, sums and actions on several runs. */
export function RunsPage() {
  const { agentId } = route.useParams();
  // The router passes on what the page does not know, such as a status that does not exist.
  const search = searchOfRuns(route.useSearch());
  const navigate = route.useNavigate();
  const filter = filterOf(search);
  const { sort = NEWEST } = search;
  const runs = useInfiniteQuery({
    ...list("/agents/:agent_id/runs", {
      params: { agentId },
      query: { ...filter, ...(sort !== NEWEST && { sort }) },
      last: lastOfRuns(search),
    }),
    placeholderData: keepPreviousData,
  });
  useActiveRuns(runs.data?.some(({ status }) => isActive(status)) ?? false);
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const keys = useList("/agents/:agent_id/credentials", { params: { agentId }, query: { limit: 100 } }).data;
  const labels = new Map(keys?.map(({ credentialId, label, hint }) => [credentialId, label ?? hint]));
  const change = (changed: RunsSearch) =>
    void navigate({ search: (before) => searchOfRuns({ ...before, ...changed }), replace: true });
  const changeSort = (by: string) => change({ sort: by === NEWEST ? undefined : (by as typeof sort) });
  const { columns, chosen } = useRunColumns();
  const longestMs = Math.max(1, ...(runs.data ?? []).map(({ durationMs }) => durationMs));
  return (
    <>
      <PageHeader
        title="Runs"
        actions={
          <>
            <RunViews agentId={agentId} search={search} onOpen={(view) => void navigate({ search: view })} />
            <DisplayMenu sort={sort} onSort={changeSort} />
            <ExportMenu agentId={agentId} query={{ ...filter, sort }} />
          </>
        }
      >
        <RunFilters agentId={agentId} search={search} keys={labels} onChange={change} />
      </PageHeader>
      <DataTable
        caption="Runs"
        query={runs}
        live={{ row: "run", filter: { agentId, ...search } }}
        columns={runColumns(longestMs, columns, { everywhere: chosen, sort: search.sort, keys: labels })}
        scrolls={chosen}
        rowKey={({ runId }) => runId}
        link={({ runId }, props) => <Link to="/agents/$agentId/runs/$runId" params={{ agentId, runId }} {...props} />}
        sort={{ by: sort, onChange: changeSort }}
        selection={{ keys: marked, onChange: setMarked }}
        empty={<NoRuns agentId={agentId} search={search} />}
      >
        {(rows) => (
          <RunSums
            agentId={agentId}
            filter={filter}
            selected={rows.filter(({ runId }) => marked.has(runId))}
            onClear={() => setMarked(new Set())}
          />
        )}
      </DataTable>
    </>
  );
}

/** Refreshes the durations of running runs. */
function useActiveRuns(active: boolean): void {
  useEffect(() => {
    if (!active) return undefined;
    const timer = setInterval(
      () => refetchChanged(queryClient, ({ queryKey }) => pathOfKey(queryKey) === "/agents/:agent_id/runs"),
      ACTIVE_MS,
    );
    return () => clearInterval(timer);
  }, [active]);
}

const ORDERS = [
  { value: NEWEST, label: "Newest" },
  { value: "createdAt", label: "Oldest" },
  { value: "-costUsd", label: "Most expensive" },
  { value: "-durationMs", label: "Longest" },
  { value: "-tokens", label: "Most tokens" },
];

/** The order, also for narrow screens, whose cards have no heads of columns, and the columns. */
function DisplayMenu({ sort, onSort }: { sort: string; onSort: (by: string) => void }) {
  const { columns } = useRunColumns();
  return (
    <Menu trigger={<Button icon="table">Sort and columns</Button>}>
      <MenuSection title="Sort by">
        <MenuChoice value={sort} options={ORDERS} onChange={onSort} />
      </MenuSection>
      <MenuSeparator />
      <MenuSection title="Columns">
        <MenuChecks
          values={columns}
          options={RUN_COLUMNS.map((name) => ({ value: name, label: name }))}
          onChange={(names) => chosenColumns.set(RUN_COLUMNS.filter((name) => names.includes(name)))}
        />
      </MenuSection>
    </Menu>
  );
}

/** Runs are found by their words, without punctuation and symbols. */
const WORD = /[\p{L}\p{N}]/u;

function NoRuns({ agentId, search }: { agentId: string; search: RunsSearch }) {
  const { baseUrl } = useSession();
  const { q } = search;
  if (Object.keys(search).length > 0)
    return (
      <EmptyState icon="search" title="No matching runs">
        {q !== undefined && !WORD.test(q.normalize("NFKD"))
          ? `Search finds words and numbers. “${q}” has none.`
          : "Clear filters or choose a longer time range."}
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
