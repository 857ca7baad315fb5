import type { AuditItem } from "@patchbay/protocol/console";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { list, resource } from "../../api/queries.ts";
import { rangeOf } from "../../format/time-range.ts";
import { Card } from "../../ui/card.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Time } from "../../ui/figures.tsx";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { EmptyState } from "../../ui/states.tsx";
import { Badge } from "../../ui/status.tsx";
import { TimeRange } from "../../ui/time-range.tsx";
import { ACTION_GROUPS, lookOf } from "./action-look.ts";
import { EntryPanel } from "./entry-panel.tsx";
import { ExportAudit } from "./export-audit.tsx";

const route = getRouteApi("/shell/audit");

/** Who did what, what was refused, and by which rule. */
export function AuditPage() {
  const { entry: opened, range, from, to, ...filters } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changed: Record<string, string | undefined>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true, resetScroll: false });
  // A run's entries are few: all of them are shown, however old.
  const times = filters.runId === undefined ? rangeOf({ range, from, to }, { preset: "30d" }) : {};
  const query = { ...filters, ...times };
  const entries = useInfiniteQuery({ ...list("/audit", { query }), placeholderData: keepPreviousData });
  const agents = useInfiniteQuery(list("/agents", { query: { limit: 100 } })).data ?? [];
  const agentNames = new Map(agents.map(({ agentId, name }) => [agentId, name]));
  const { roles, functions } = useSuggestions(
    filters.agentId ?? (agents.length === 1 ? agents[0]?.agentId : undefined),
  );
  const shown = entries.data?.find(({ id }) => id === opened);
  return (
    <>
      <PageHeader
        title="Audit"
        description="Who did what, what was refused, and by which rule"
        actions={<ExportAudit query={query} />}
      >
        <FilterBar
          filters={[
            {
              kind: "choice",
              name: "agentId",
              label: "Agent",
              options: agentOptions(agentNames, filters.agentId),
            },
            { kind: "choice", name: "action", label: "What", options: actionOptions(filters.action) },
            { kind: "text", name: "role", label: "Role", suggestions: roles },
            { kind: "text", name: "functionName", label: "Function", suggestions: functions },
            ...(filters.runId === undefined
              ? []
              : [{ kind: "text", name: "runId", label: "Run id", suggestions: [] } as const]),
          ]}
          values={filters}
          onChange={change}
        >
          {filters.runId === undefined && (
            <TimeRange value={{ range, from, to }} preset="30d" onChange={(changed) => change({ ...changed })} />
          )}
        </FilterBar>
      </PageHeader>
      {opened !== undefined && entries.data !== undefined && !shown && (
        <p role="status" className="text-muted mb-3 text-sm">
          The entry that this link names is not among those shown: load more, or clear filters.
        </p>
      )}
      <Card flush>
        <DataTable
          caption="Audit entries"
          query={entries}
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
            <EmptyState icon="audit" title="Nothing was noted">
              {Object.keys(filters).length > 0
                ? "No entry fits these filters. Clear some, or look at a longer time."
                : "Nothing happened in this time. Queries, calls, refusals, keys, members and changes all leave an entry."}
            </EmptyState>
          }
        />
      </Card>
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

/** Roles and functions to choose from: those of the agent whose entries are looked at. */
function useSuggestions(agentId: string | undefined): { roles: string[]; functions: string[] } {
  const { data } = useQuery({
    ...resource("/agents/:agent_id/access", { params: { agent_id: agentId ?? "" }, query: {} }),
    enabled: agentId !== undefined,
  });
  return {
    roles: data?.roles.filter((role) => role !== null) ?? [],
    functions: data?.functions.map(({ name }) => name) ?? [],
  };
}

/** A link may name what is not in the list: an agent since deleted, an action that no group has. */
function agentOptions(names: Map<string, string>, chosen: string | undefined) {
  const options = [...names].map(([value, label]) => ({ value, label }));
  return chosen === undefined || names.has(chosen) ? options : [...options, { value: chosen, label: chosen }];
}

const actionOptions = (chosen: string | undefined) =>
  chosen === undefined || ACTION_GROUPS.some(({ value }) => value === chosen)
    ? ACTION_GROUPS
    : [...ACTION_GROUPS, { value: chosen, label: chosen }];

const columnsOf = (agentNames: Map<string, string>): Column<AuditItem>[] => [
  { head: "What happened", cell: ({ sentence }) => <span className="block max-w-3xl">{sentence}</span> },
  { head: "Action", cell: ({ action }) => <Badge {...lookOf(action)}>{action}</Badge> },
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
    cell: ({ member, keyId }) =>
      member === null && keyId !== null ? (
        <code className="block max-w-36 truncate font-mono text-xs" title={keyId}>
          {keyId}
        </code>
      ) : (
        <span className="block max-w-36 truncate">{member ?? "operator"}</span>
      ),
  },
  { head: "When", align: "end", cell: ({ at }) => <Time at={at} /> },
];
