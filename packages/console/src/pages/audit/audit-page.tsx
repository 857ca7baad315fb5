import type { AuditItem } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useAction } from "../../api/action.ts";
import { api, resource, useList } from "../../api/api.ts";
import type { AnswerOf, QueryOf } from "../../api/routes.ts";
import { formatCount } from "../../format/numbers.ts";
import { lastOf, rangeOf } from "../../format/time-range.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { Button } from "../../ui/button.tsx";
import { DataTable } from "../../ui/table/data-table.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { download } from "../../ui/download.ts";
import { FilterBar } from "../../ui/table/filter-bar.tsx";
import { EmptyState, PageHeader } from "../../ui/page.tsx";
import { TimeRange } from "../../ui/form/time-range.tsx";
import { showError, showSuccess } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import { Action, ACTION_GROUPS, EntryPanel } from "./entry-panel.tsx";

const route = getRouteApi("/shell/audit");
const PRESET = "30d";

/** The audit log: actions by members, keys and the operator, with denied calls and rejected requests. */
export function AuditPage() {
  const search = route.useSearch();
  const { entry: opened, range, from, to, ...filters } = search;
  const change = useSearchChange(route);
  // All entries for a run are shown, regardless of age: they are few.
  const times = filters.runId === undefined ? rangeOf({ range, from, to }, { preset: PRESET }) : {};
  const query = { ...filters, ...times };
  const last = filters.runId === undefined ? lastOf({ range, from }, PRESET) : undefined;
  const entries = useList("/audit", { query, last });
  const agents = useList("/agents", { query: { limit: 100 } }).data ?? [];
  const agentNames = new Map(agents.map(({ agentId, name }) => [agentId, name]));
  const shown = entries.data?.find(({ id }) => id === opened);
  return (
    <>
      <PageHeader
        title="Audit"
        description="Actions, denied calls and rejected requests, with the rule"
        actions={<ExportAudit query={query} />}
      >
        <Filters search={search} agentNames={agentNames} onChange={change} />
      </PageHeader>
      {opened !== undefined && entries.data !== undefined && !shown && (
        <p role="status" className="text-muted mb-3 text-sm">
          The linked entry is not in this list. Load more entries or clear filters.
        </p>
      )}
      <DataTable
        caption="Audit entries"
        query={entries}
        live={{ row: "entry", rows: "entries", filter: { ...filters, range, from, to } }}
        columns={columnsOf(agentNames)}
        rowKey={({ id }) => id}
        link={({ id }, props) => (
          <Link
            to="/audit"
            search={(before) => ({ ...before, entry: id })}
            replace
            resetScroll={false}
            {...props}
            className={`${props.className} block`}
          />
        )}
        empty={
          <EmptyState icon="audit" title="No entries">
            {Object.keys(filters).length > 0
              ? "Clear filters or choose a longer time range."
              : "Queries, calls and changes of agents, keys and members appear here."}
          </EmptyState>
        }
      />
      {shown && (
        <EntryPanel
          entry={shown}
          agentName={shown.agentId === null ? undefined : agentNames.get(shown.agentId)}
          onClose={() => change({ entry: undefined })}
        />
      )}
    </>
  );
}

interface FiltersProps {
  search: ReturnType<typeof route.useSearch>;
  agentNames: Map<string, string>;
  onChange: (changed: Record<string, string | undefined>) => void;
}

function Filters({ search: { range, from, to, ...filters }, agentNames, onChange }: FiltersProps) {
  const { agentId, runId } = filters;
  const { roles, functions } = useSuggestions(
    agentId ?? (agentNames.size === 1 ? [...agentNames.keys()][0] : undefined),
  );
  return (
    <FilterBar
      filters={[
        {
          kind: "choice",
          name: "agentId",
          label: "Agent",
          options: [...agentNames].map(([value, label]) => ({ value, label })),
        },
        { kind: "choice", name: "action", label: "Event", options: ACTION_GROUPS },
        { kind: "text", name: "role", label: "Role", suggestions: roles },
        { kind: "text", name: "functionName", label: "Function", suggestions: functions },
        ...(runId === undefined ? [] : [{ kind: "text", name: "runId", label: "Run ID", suggestions: [] } as const]),
      ]}
      values={filters}
      onChange={onChange}
    >
      {runId === undefined && (
        <TimeRange value={{ range, from, to }} preset={PRESET} onChange={(changed) => onChange({ ...changed })} />
      )}
    </FilterBar>
  );
}

/** The roles and functions of the selected or only agent. */
function useSuggestions(agentId: string | undefined): { roles: string[]; functions: string[] } {
  const { data } = useQuery({
    ...resource("/agents/:agent_id/access", { params: { agentId: agentId ?? "" }, query: {} }),
    enabled: agentId !== undefined,
  });
  return {
    roles: data?.roles.filter((role) => role !== null) ?? [],
    functions: data?.functions.map(({ name }) => name) ?? [],
  };
}

const columnsOf = (agentNames: Map<string, string>): Column<AuditItem>[] => [
  { head: "Event", cell: ({ sentence }) => <span className="block max-w-3xl">{sentence}</span> },
  { head: "Action", cell: (entry) => <Action {...entry} /> },
  {
    head: "Agent",
    from: "lg",
    cell: ({ agentId }) =>
      agentId === null ? (
        <span className="text-faint">–</span>
      ) : (
        <span className="block max-w-40 truncate">{agentNames.get(agentId) ?? agentId}</span>
      ),
  },
  {
    head: "By",
    from: "md",
    cell: ({ member, keyLabel, keyId }) =>
      member === null && keyLabel === null && keyId !== null ? (
        <code className="block max-w-36 truncate font-mono text-xs" title={keyId}>
          {keyId}
        </code>
      ) : (
        <span className="block max-w-36 truncate" title={keyId ?? undefined}>
          {member ?? keyLabel ?? "operator"}
        </span>
      ),
  },
  { head: "When", align: "end", cell: ({ at }) => <Time at={at} /> },
];

/** Saves every entry that matches the filters, not only the loaded ones. */
function ExportAudit({ query }: { query: QueryOf<"GET", "/audit"> }) {
  const [count, setCount] = useState(0);
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const save = useAction({
    mutationFn: async () => {
      const { signal } = (stop.current = new AbortController());
      setCount(0);
      const getPage = (cursor: string | undefined) =>
        api.get("/audit", { query: { ...query, limit: 100, cursor }, signal });
      return collectEntries(getPage, setCount);
    },
    onSuccess: ({ text, count, cut }) => {
      download("audit.ndjson", "application/x-ndjson", text);
      showSuccess(
        `Saved ${formatCount(count)} entries`,
        cut ? "The export limit was reached; narrow the filters or the time range for the rest." : undefined,
      );
    },
    onError: (error) => {
      if (stop.current?.signal.aborted !== true) showError("Couldn't export the log", error);
    },
  });
  if (!save.isPending)
    return (
      <Button icon="download" onClick={() => save.mutate()}>
        Export NDJSON
      </Button>
    );
  return (
    <Button icon="close" onClick={() => stop.current?.abort()}>
      Stop export ({formatCount(count)})
    </Button>
  );
}

/** Maximum entries in one export, about 10 MB. */
const EXPORT_LIMIT = 20_000;

/** Fetches all pages and returns the entries as JSON lines, latest first. `cut` is true if the limit was reached. */
export async function collectEntries(
  getPage: (cursor: string | undefined) => Promise<AnswerOf<"GET", "/audit">>,
  onProgress: (count: number) => void,
  limit = EXPORT_LIMIT,
): Promise<{ text: string; count: number; cut: boolean }> {
  const lines: string[] = [];
  let cursor: string | undefined;
  do {
    const { items, nextCursor } = await getPage(cursor);
    lines.push(...items.map((item) => `${JSON.stringify(item)}\n`));
    cursor = nextCursor ?? undefined;
    onProgress(Math.min(lines.length, limit));
  } while (cursor !== undefined && lines.length < limit);
  const cut = cursor !== undefined || lines.length > limit;
  const kept = lines.slice(0, limit);
  return { text: kept.join(""), count: kept.length, cut };
}
