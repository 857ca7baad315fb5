import type { ConsoleFunction, FunctionSet } from "@patchbay/protocol/console";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { ApiError } from "../../api/api-error.ts";
import { resource } from "../../api/queries.ts";
import { formatShare } from "../../format/numbers.ts";
import { rangeOf } from "../../format/time-range.ts";
import { countOf } from "../../format/words.ts";
import { Card } from "../../ui/card.tsx";
import { DataTable, rowsOf, type Column } from "../../ui/data-table.tsx";
import { Count, Duration, Time } from "../../ui/figures.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { EmptyState } from "../../ui/states.tsx";
import { Status } from "../../ui/status.tsx";
import { Effect, RoleBadges } from "./function-badges.tsx";
import { NeverConnected } from "./never-connected.tsx";
import { searchFunctions, sortFunctions } from "./sort-functions.ts";

const route = getRouteApi("/shell/agents/$agentId/functions");

/** The functions of one set, with their figures over the range. */
export function FunctionList() {
  const { agentId } = route.useParams();
  const { q, manifestHash, sort = "name", range, from, to } = route.useSearch();
  const search = { range, from, to };
  const navigate = route.useNavigate();
  const set = useQuery({
    ...resource("/agents/:agent_id/functions", {
      params: { agent_id: agentId },
      query: { ...rangeOf(search), manifestHash },
    }),
    placeholderData: keepPreviousData,
  });
  if (set.error instanceof ApiError && set.error.code === "not_found" && manifestHash === undefined)
    return (
      <Card>
        <NeverConnected agentId={agentId}>
          Functions are declared where they run, in a service file of yours, and listed here once a runtime brought
          them.
        </NeverConnected>
      </Card>
    );
  const functions = set.data && sortFunctions(searchFunctions(set.data.functions, q ?? ""), sort);
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <SearchField
          label="Search functions"
          value={q}
          onChange={(value) =>
            void navigate({ search: (before) => ({ ...before, q: value || undefined }), replace: true })
          }
        />
        {set.data && <SetLine set={set.data} chosen={manifestHash !== undefined} />}
      </div>
      <Card flush>
        <DataTable
          caption="Functions"
          query={rowsOf(set, functions)}
          columns={COLUMNS}
          rowKey={({ name }) => name}
          sort={{
            by: sort,
            onChange: (by) =>
              void navigate({
                search: (before) => ({ ...before, sort: by === "name" ? undefined : by }),
                replace: true,
              }),
          }}
          link={({ name }, props) => (
            <Link
              to="/agents/$agentId/functions/$functionName"
              params={{ agentId, functionName: name }}
              search={{ ...search, manifestHash }}
              {...props}
            />
          )}
          empty={
            q === undefined ? (
              <EmptyState icon="function" title="This set has no functions">
                The service connected without any. Add one with defineFunction and connect again.
              </EmptyState>
            ) : (
              <EmptyState icon="search" title="No function like that">
                Names, descriptions and roles are searched for every word.
              </EmptyState>
            )
          }
        />
      </Card>
    </div>
  );
}

function SetLine({ set, chosen }: { set: FunctionSet; chosen: boolean }) {
  return (
    <p className="text-muted flex flex-wrap items-center gap-x-2 gap-y-1 text-sm">
      <Status state={set.connected ? "connected" : "disconnected"} />
      <span>
        {countOf(set.functions.length, "function")} of {set.service}, first seen <Time at={set.firstSeenAt} />
      </span>
      {chosen && (
        <Link
          from="/agents/$agentId/functions"
          to="."
          search={(before) => ({ ...before, manifestHash: undefined })}
          className="text-accent underline underline-offset-2"
        >
          Show the newest set
        </Link>
      )}
    </p>
  );
}

const COLUMNS: Column<ConsoleFunction>[] = [
  {
    head: "Function",
    sort: "name",
    className: "sm:w-[28%]",
    cell: ({ name, description }) => (
      <span className="block min-w-0">
        <span className="block font-mono text-sm font-medium">{name}</span>
        <span className="text-muted line-clamp-2 text-xs sm:line-clamp-1" title={description}>
          {description}
        </span>
      </span>
    ),
  },
  { head: "Roles", from: "md", className: "max-sm:[&_span]:justify-end", cell: (one) => <RoleBadges {...one} /> },
  { head: "Effect", sort: "effect", cell: (one) => <Effect {...one} /> },
  { head: "Calls", align: "end", sort: "calls", cell: ({ figures }) => <Count value={figures.calls} /> },
  { head: "Errors", align: "end", sort: "errors", cell: ({ figures }) => <Errors {...figures} /> },
  { head: "p50", align: "end", from: "lg", sort: "p50", cell: ({ figures }) => <Duration ms={figures.p50Ms} /> },
  { head: "p95", align: "end", from: "md", sort: "p95", cell: ({ figures }) => <Duration ms={figures.p95Ms} /> },
  {
    head: "Last call",
    align: "end",
    from: "lg",
    sort: "last",
    cell: ({ figures }) => <Time at={figures.lastCalledAt} />,
  },
];

/** Failed calls of all; what was refused is no error. */
function Errors({ calls, failed, denied }: ConsoleFunction["figures"]) {
  return (
    <span className="whitespace-nowrap">
      {failed === 0 ? (
        <span className="text-faint">{calls === 0 ? "–" : "0"}</span>
      ) : (
        <span className="text-bad">
          {failed} <span className="text-xs">({formatShare(failed, calls)})</span>
        </span>
      )}
      {denied > 0 && <span className="text-warn block text-xs">{countOf(denied, "refusal")}</span>}
    </span>
  );
}
