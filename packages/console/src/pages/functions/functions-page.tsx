import type { ConsoleFunction, FunctionSet } from "@patchbay/protocol/console";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useFiltered } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { rangeOf } from "../../format/time-range.ts";
import { toFunction } from "../../state/addresses.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { TextLink } from "../../ui/button.tsx";
import { DataTable, rowsOf } from "../../ui/table/data-table.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { isNotFound } from "../../ui/error-pages.tsx";
import { Card, EmptyState, PageHeader } from "../../ui/page.tsx";
import { SearchField } from "../../ui/table/search-field.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { TimeRange } from "../../ui/form/time-range.tsx";
import { Badge, Count, Duration, Effect, Failed, RoleBadges, Status, Time } from "../../ui/values.tsx";
import { NeverConnected } from "../../parts/runtime/connect.tsx";
import { FunctionSets } from "./function-sets.tsx";

const route = getRouteApi("/shell/agents/$agentId/functions");

/** An agent's functions with their figures, and its function sets over time. */
export function FunctionsPage() {
  const { view = "list", ...search } = route.useSearch();
  const change = useSearchChange(route, { toTop: true });
  return (
    <>
      <PageHeader
        title="Functions"
        description="Functions that the model can call, with call figures"
        actions={view === "list" && <TimeRange value={search} onChange={change} />}
      />
      <Tabs
        value={view}
        onChange={(next) =>
          change({ view: next === "list" ? undefined : next, manifestHash: undefined, base: undefined })
        }
        tabs={[
          { value: "list", label: "Functions", content: <FunctionList /> },
          { value: "sets", label: "Versions", content: <FunctionSets /> },
        ]}
      />
    </>
  );
}

/** One set's functions, with figures for the time range. */
function FunctionList() {
  const { agentId } = route.useParams();
  const { q, manifestHash, sort = "name", range, from, to } = route.useSearch();
  const search = { range, from, to };
  const change = useSearchChange(route, { toTop: true });
  const query = { ...rangeOf(search), manifestHash };
  const set = useFiltered("/agents/:agent_id/functions", { params: { agentId }, query });
  if (isNotFound(set.error) && manifestHash === undefined)
    return (
      <Card>
        <NeverConnected agentId={agentId}>Connect a runtime to list its functions here.</NeverConnected>
      </Card>
    );
  const functions = set.data && sortFunctions(searchFunctions(set.data.functions, q ?? ""), sort);
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <SearchField label="Search functions" value={q} onChange={(value) => change({ q: value })} />
        {set.data && <SetLine set={set.data} selected={manifestHash !== undefined} />}
      </div>
      <DataTable
        caption="Functions"
        query={rowsOf(set, functions)}
        columns={COLUMNS}
        rowKey={({ name }) => name}
        sort={{ by: sort, onChange: (by) => change({ sort: by === "name" ? undefined : by }) }}
        link={({ name }, props) => (
          <Link {...toFunction(agentId, name)} search={{ ...search, manifestHash }} {...props} />
        )}
        empty={
          q === undefined ? (
            <EmptyState icon="function" title="This function set is empty">
              Add functions to the service, then restart its runtime.
            </EmptyState>
          ) : (
            <EmptyState icon="search" title="No matching functions">
              Search matches all words in names, titles, tags, descriptions and roles.
            </EmptyState>
          )
        }
      />
    </div>
  );
}

const SetLine = ({ set, selected }: { set: FunctionSet; selected: boolean }) => (
  <p className="text-muted flex flex-wrap items-center gap-x-2 gap-y-1 text-sm">
    <Status state={set.connected ? "connected" : "disconnected"} />
    <span>
      {countOf(set.functions.length, "function")} of {set.service}, first seen <Time at={set.firstSeenAt} />
    </span>
    {selected && (
      <TextLink from="/agents/$agentId/functions" to="." search={(before) => ({ ...before, manifestHash: undefined })}>
        Show latest version
      </TextLink>
    )}
  </p>
);

const COLUMNS: Column<ConsoleFunction>[] = [
  {
    head: "Function",
    sort: "name",
    className: "sm:w-[28%]",
    cell: ({ name, title, description, deprecated }) => (
      <span className="block min-w-0">
        <span className="block text-sm font-medium">
          {title !== undefined && <>{title} </>}
          <span className={`font-mono ${title === undefined ? "" : "text-muted text-xs font-normal"}`}>{name}</span>
          {deprecated !== undefined && (
            <>
              {" "}
              <Badge tone="warn">deprecated</Badge>
            </>
          )}
        </span>
        <span className="text-muted line-clamp-2 text-xs sm:line-clamp-1" title={description}>
          {description}
        </span>
      </span>
    ),
  },
  { head: "Roles", from: "md", className: "max-sm:[&_span]:justify-end", cell: (fn) => <RoleBadges {...fn} /> },
  { head: "Effect", sort: "effect", cell: (fn) => <Effect {...fn} /> },
  { head: "Calls", align: "end", sort: "calls", cell: ({ figures }) => <Count value={figures.calls} /> },
  { head: "Errors", align: "end", sort: "errors", cell: ({ figures }) => <Errors {...figures} /> },
  { head: "p50", align: "end", from: "lg", sort: "p50", cell: ({ figures }) => <Duration ms={figures.p50Ms} /> },
  { head: "p95", align: "end", from: "md", sort: "p95", cell: ({ figures }) => <Duration ms={figures.p95Ms} /> },
  {
    head: "Last call",
    align: "end",
    from: "lg",
    sort: "last",
    cell: ({ figures }) => <Time at={figures.lastCalledAt} none="none in range" />,
  },
];

/** Failed calls with their share; denied calls do not count as errors. */
const Errors = ({ calls, failed, denied }: ConsoleFunction["figures"]) => (
  <span className="whitespace-nowrap">
    <Failed count={failed} of={calls} />
    {denied > 0 && <span className="text-warn block text-xs">{denied} denied</span>}
  </span>
);

const ORDERS: Record<string, (fn: ConsoleFunction) => string | number | null> = {
  name: ({ name }) => name,
  effect: ({ effect }) => ["read", "write", "destructive"].indexOf(effect),
  calls: ({ figures }) => figures.calls,
  errors: ({ figures: { calls, failed } }) => (calls === 0 ? null : failed / calls),
  p50: ({ figures }) => figures.p50Ms,
  p95: ({ figures }) => figures.p95Ms,
  last: ({ figures }) => figures.lastCalledAt,
};

/** Sorts by `by`; a leading minus reverses the order. Functions without a figure come last either way. */
export function sortFunctions(functions: readonly ConsoleFunction[], by: string): ConsoleFunction[] {
  const down = by.startsWith("-");
  const order = ORDERS[down ? by.slice(1) : by] ?? ORDERS["name"]!;
  return functions.toSorted((a, b) => {
    const [x, y] = [order(a), order(b)];
    if (x === y) return a.name < b.name ? -1 : 1;
    if (x === null || y === null) return x === null ? 1 : -1;
    return (x < y ? -1 : 1) * (down ? -1 : 1);
  });
}

/** Functions whose name, title, tags, description or roles contain every word in `q`. */
export function searchFunctions(functions: readonly ConsoleFunction[], q: string): ConsoleFunction[] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return functions.filter(({ name, title = "", tags = [], description, roles }) => {
    const text =
      `${name} ${title} ${tags.join(" ")} ${description} ${roles === "everyone" ? roles : roles.join(" ")}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
