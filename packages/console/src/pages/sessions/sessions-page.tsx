import type { ConsoleSession } from "@patchbay/protocol/console";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useList, useSession } from "../../api/api.ts";
import { snippetsOf } from "../../format/snippets.ts";
import { lastOf, rangeOf } from "../../format/time-range.ts";
import { toPage } from "../../state/addresses.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { QuietLink } from "../../ui/button.tsx";
import { DataTable } from "../../ui/table/data-table.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { EmptyState, PageHeader } from "../../ui/page.tsx";
import { SearchField } from "../../ui/table/search-field.tsx";
import { TimeRange } from "../../ui/form/time-range.tsx";
import { Count, Failed, Money, Time, TwoLines } from "../../ui/values.tsx";

const route = getRouteApi("/shell/agents/$agentId/sessions");
const PRESET = "7d";

/** End users' sessions: queries grouped by their `sessionId`. */
export function SessionsPage() {
  const { agentId } = route.useParams();
  const { q, ...range } = route.useSearch();
  const change = useSearchChange(route, { toTop: true });
  const sessions = useList("/agents/:agent_id/sessions", {
    params: { agentId },
    query: { q, ...rangeOf(range, { preset: PRESET }) },
    last: lastOf(range, PRESET),
  });
  return (
    <>
      <PageHeader title="Sessions" description="Queries grouped by sessionId, across threads">
        <div role="search" className="flex flex-wrap items-center gap-2">
          <SearchField label="Search IDs and first queries" value={q} onChange={(value) => change({ q: value })} />
          <TimeRange value={range} preset={PRESET} onChange={change} />
        </div>
      </PageHeader>
      <DataTable
        caption="Sessions"
        query={sessions}
        live={{ row: "session", filter: { agentId, q, ...range } }}
        columns={COLUMNS}
        rowKey={({ sessionId }) => sessionId}
        link={({ sessionId }, props) => <Link {...toPage(agentId, "threads")} search={{ sessionId }} {...props} />}
        actions={({ sessionId }) => (
          <QuietLink {...toPage(agentId, "runs")} search={{ sessionId }} aria-label={`Runs in session ${sessionId}`}>
            Runs
          </QuietLink>
        )}
        empty={q === undefined ? <NoSessions agentId={agentId} /> : <NothingFound />}
      />
    </>
  );
}

const NothingFound = () => (
  <EmptyState icon="search" title="No matching sessions">
    Search matches IDs and first queries within the time range.
  </EmptyState>
);

function NoSessions({ agentId }: { agentId: string }) {
  const { baseUrl } = useSession();
  const { curl } = snippetsOf({ baseUrl, agentId, body: { query: "Hello", sessionId: "visit-1" } });
  return (
    <EmptyState icon="session" title="No sessions in this time range" command={curl.replaceAll(" \\\n ", "")}>
      Send a <code className="font-mono text-xs">sessionId</code> of your choice with a query, such as the ID of a
      visit.
    </EmptyState>
  );
}

const COLUMNS: Column<ConsoleSession>[] = [
  {
    head: "Session",
    className: "sm:w-full sm:max-w-0",
    cell: ({ sessionId, firstQuery }) => (
      <TwoLines
        first={firstQuery === "" ? <span className="text-muted italic">Threads erased</span> : firstQuery}
        second={sessionId}
        id
        long
      />
    ),
  },
  { head: "Queries", align: "end", cell: ({ queries }) => <Count value={queries} /> },
  { head: "Failed", align: "end", cell: ({ failed }) => <Failed count={failed} /> },
  { head: "Cost", align: "end", from: "md", cell: ({ costUsd }) => <Money usd={costUsd} /> },
  { head: "Started", align: "end", from: "xl", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: "Last query", align: "end", cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
];
