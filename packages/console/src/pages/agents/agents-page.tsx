import type { Agent } from "@patchbay/protocol/console";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { useHasRole, useList } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { toAgent } from "../../state/addresses.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { GuardedButton } from "../../ui/button.tsx";
import { DataTable } from "../../ui/table/data-table.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { EmptyState, PageHeader } from "../../ui/page.tsx";
import { SearchField } from "../../ui/table/search-field.tsx";
import { Badge, Count, Failed, Time, TwoLines } from "../../ui/values.tsx";

const FirstSteps = lazy(async () => ({ default: (await import("./first-steps.tsx")).FirstSteps }));
const CreateAgent = lazy(async () => ({ default: (await import("./agent-dialogs.tsx")).CreateAgent }));

const route = getRouteApi("/shell/agents");

/** The organisation's agents, and the dialog to create one. */
export function AgentsPage() {
  const { q, create } = route.useSearch();
  const navigate = route.useNavigate();
  const change = useSearchChange(route, { toTop: true });
  const mayCreate = useHasRole("developer");
  const agents = useList("/agents", { query: { q } });
  const setCreate = (open: boolean) =>
    void navigate({ search: (before) => ({ ...before, create: open ? "1" : undefined }), replace: !open });
  const newAgent = (
    <GuardedButton needs="developer" look="primary" icon="plus" onClick={() => setCreate(true)}>
      New agent
    </GuardedButton>
  );
  const createDialog = (
    <Suspense>{create !== undefined && mayCreate && <CreateAgent onClose={() => setCreate(false)} />}</Suspense>
  );
  if (q === undefined && agents.data?.length === 0)
    return (
      <>
        <PageHeader title="Agents" />
        <Suspense>
          <FirstSteps create={newAgent} />
        </Suspense>
        {createDialog}
      </>
    );
  return (
    <>
      <PageHeader title="Agents" description="Agents and their activity in the last 24 hours" actions={newAgent}>
        <SearchField label="Search agents" value={q} onChange={(value) => change({ q: value })} />
      </PageHeader>
      <DataTable
        caption="Agents"
        query={agents}
        columns={COLUMNS}
        rowKey={({ agentId }) => agentId}
        link={({ agentId }, props) => <Link {...toAgent(agentId)} {...props} />}
        empty={
          <EmptyState icon="search" title="No matching agents">
            Search matches names and IDs.
          </EmptyState>
        }
      />
      {createDialog}
    </>
  );
}

const COLUMNS: Column<Agent>[] = [
  { head: "Name", cell: ({ name, agentId }) => <TwoLines first={name} second={agentId} id /> },
  {
    head: "Runtimes",
    cell: ({ runtimes }) =>
      runtimes > 0 ? (
        <Badge tone="ok" icon="plug">
          {countOf(runtimes, "runtime")}
        </Badge>
      ) : (
        <Badge tone="warn" icon="alert">
          not connected
        </Badge>
      ),
  },
  { head: "Functions", align: "end", from: "md", cell: ({ functions }) => <Count value={functions} /> },
  { head: "Queries", align: "end", cell: ({ queries }) => <Count value={queries} /> },
  { head: "Failed", align: "end", cell: ({ failed, queries }) => <Failed count={failed} of={queries} /> },
  { head: "Last query", align: "end", from: "lg", cell: ({ lastQueryAt }) => <Time at={lastQueryAt} /> },
  { head: "Created", align: "end", from: "xl", cell: ({ createdAt }) => <Time at={createdAt} /> },
];
