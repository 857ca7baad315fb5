import type { TestCounts } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { pathOfKey, queryClient, resource, useFiltered, useList } from "../../api/api.ts";
import { refetchChanged } from "../../api/refresh-list.ts";
import { urlOf } from "../../api/routes.ts";
import { countOf } from "../../format/numbers.ts";
import { toRun } from "../../state/addresses.ts";
import { runs as searchOfRuns } from "../../state/page-search.ts";
import { Button } from "../../ui/button.tsx";
import { DataTable } from "../../ui/table/data-table.tsx";
import { IndexNote } from "../../ui/index-note.tsx";
import { EmptyState, PageHeader } from "../../ui/page.tsx";
import { Menu, MenuChecks, MenuChoice, MenuItem, MenuSection, MenuSeparator } from "../../ui/popover.tsx";
import { Snippets } from "../../ui/text/snippet.tsx";
import { PlaygroundLink } from "../../parts/playground/playground-link.tsx";
import { chosenColumns, RUN_COLUMNS, runColumns, useRunColumns } from "../../parts/run/run-columns.tsx";
import { filterOf, lastOfRuns, RunFilters, type RunsSearch } from "./run-filters.tsx";
import { RunSums } from "./run-sums.tsx";
import { RunViews } from "./run-views.tsx";
import { isActive } from "../../parts/run/run-facts.ts";

const route = getRouteApi("/shell/agents/$agentId/runs");

/** Refresh interval for running runs' durations. */
const ACTIVE_MS = 5_000;
const NEWEST = "-createdAt";

/** An agent's runs, latest first or in another order, with filters, sums and actions on several runs. */
export function RunsPage() {
  const { agentId } = route.useParams();
  // The router passes on what the page does not know, such as a status that does not exist.
  const search = searchOfRuns(route.useSearch());
  const navigate = route.useNavigate();
  const filter = filterOf(search);
  const { sort = NEWEST } = search;
  const runs = useList("/agents/:agent_id/runs", {
    params: { agentId },
    query: { ...filter, ...(sort !== NEWEST && { sort }) },
    last: lastOfRuns(search),
  });
  const { data: totals } = useFiltered("/agents/:agent_id/run-totals", { params: { agentId }, query: filter });
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
      <IndexNote to={totals?.indexedTo} />
      <DataTable
        caption="Runs"
        query={runs}
        live={{ row: "run", filter: { agentId, ...search } }}
        columns={runColumns(longestMs, columns, { everywhere: chosen, sort: search.sort, keys: labels })}
        scrolls={chosen}
        rowKey={({ runId }) => runId}
        link={({ runId }, props) => <Link {...toRun(agentId, runId)} {...props} />}
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

/** Refreshes running runs' durations. */
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

/** The order, also for narrow screens, whose cards have no column heads, and the columns. */
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
        <Snippets agentId={agentId} body={{ query: "What can you do?" }} />
      </div>
    </div>
  );
}

type ExportQuery = ReturnType<typeof filterOf> & { sort: NonNullable<RunsSearch["sort"]> };

const FORMATS = [
  { format: "csv", label: "CSV" },
  { format: "ndjson", label: "NDJSON, one run per line" },
  { format: "json", label: "JSON" },
];

/** Downloads all matching runs, also those that are not loaded, in list order. */
const ExportMenu = ({ agentId, query }: { agentId: string; query: ExportQuery }) => (
  <Menu trigger={<Button icon="download">Export</Button>}>
    <MenuSection title="All matching runs">
      {FORMATS.map(({ format, label }) => (
        <MenuItem
          key={format}
          link={<a download href={urlOf("/agents/:agent_id/run-export", { agentId }, { ...query, format })} />}
        >
          {label}
        </MenuItem>
      ))}
      <TestsItem agentId={agentId} query={query} />
    </MenuSection>
  </Menu>
);

/** The test download, with the number of tests. They are counted when the menu opens. */
function TestsItem({ agentId, query }: { agentId: string; query: ExportQuery }) {
  const params = { agentId };
  const { data } = useQuery(resource("/agents/:agent_id/run-export/tests", { params, query }));
  const none = data?.tests === 0;
  return (
    <MenuItem
      link={<a download href={urlOf("/agents/:agent_id/run-export", params, { ...query, format: "tests" })} />}
      reason={none ? (data.left === 0 ? "No runs match." : "No matching run can be replayed.") : undefined}
    >
      Test files that replay them, up to 200 runs
      {data && !none && <span className="text-muted block text-xs">{countsInWords(data)}</span>}
    </MenuItem>
  );
}

/** For example "12 tests, 2 need an edit, 1 run omitted". */
const countsInWords = ({ tests, toEdit, left }: TestCounts): string =>
  [
    countOf(tests, "test"),
    toEdit > 0 && `${toEdit} ${toEdit === 1 ? "needs" : "need"} an edit`,
    left > 0 && `${countOf(left, "run")} omitted`,
  ]
    .filter(Boolean)
    .join(", ");
