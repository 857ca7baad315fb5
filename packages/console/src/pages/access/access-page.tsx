import { getRouteApi } from "@tanstack/react-router";
import { useFiltered } from "../../api/api.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { isNotFound } from "../../ui/error-pages.tsx";
import { Card, Loaded, Loading, PageHeader } from "../../ui/page.tsx";
import { type Tab, Tabs } from "../../ui/tabs.tsx";
import { Badge } from "../../ui/values.tsx";
import { NeverConnected } from "../../parts/runtime/connect.tsx";
import { LockState, SinceLock, SinceSet } from "./changes-view.tsx";
import { MatrixExport, MatrixView } from "./matrix-view.tsx";
import { ModelViewOfRole } from "./model-view.tsx";
import { ShadowView } from "./shadow-view.tsx";
import { UnusedRights } from "./unused-rights.tsx";
import { ReviewState } from "../../parts/access/access-review.tsx";
import { PendingSets, ServiceWarnings, usePendingSets, WidenedSets } from "../../parts/access/widened-sets.tsx";

const route = getRouteApi("/shell/agents/$agentId/access");

type View = "matrix" | "model" | "use" | "changes" | "shadow";

/** Which role may call which function, and why; what its model receives; and what changed. */
export function AccessPage() {
  const { agentId } = route.useParams();
  const { manifestHash, view = "matrix" } = route.useSearch();
  const change = useSearchChange(route, { toTop: true });
  const access = useFiltered("/agents/:agent_id/access", { params: { agentId }, query: { manifestHash } });
  const isEmpty = !access.data && isNotFound(access.error);
  const loaded = (View: typeof MatrixView) => (
    <Loaded query={access} loading={<Loading block="h-96 rounded-lg" />}>
      {(matrix) => <View matrix={matrix} />}
    </Loaded>
  );
  const tabs: Tab<View>[] = [
    { value: "matrix", label: "Matrix", content: loaded(MatrixView) },
    { value: "model", label: "What a role sees", content: loaded(ModelViewOfRole) },
    { value: "use", label: "Unused rights", content: <UnusedRights agentId={agentId} manifestHash={manifestHash} /> },
    {
      value: "changes",
      label: <ChangesLabel agentId={agentId} />,
      content: (
        <div className="grid gap-4">
          <WidenedSets agentId={agentId} />
          <SinceSet />
          <SinceLock />
        </div>
      ),
    },
    { value: "shadow", label: "Candidate", content: <ShadowView agentId={agentId} /> },
  ];
  const open = (next: View) => change({ view: next === "matrix" ? undefined : next, cell: undefined });
  return (
    <>
      <PageHeader
        title="Access"
        description="Which role may call which function, and why"
        actions={access.data && <MatrixExport agentId={agentId} matrix={access.data} />}
      >
        <LockState agentId={agentId} manifestHash={manifestHash} />
        <ReviewState agentId={agentId} manifestHash={access.data?.manifestHash} />
      </PageHeader>
      <PendingSets agentId={agentId} />
      <ServiceWarnings agentId={agentId} />
      {isEmpty ? (
        <Card>
          <NeverConnected agentId={agentId}>
            Functions list their roles in code. Connect a runtime to see which role may call what.
          </NeverConnected>
        </Card>
      ) : (
        <Tabs value={view} onChange={open} tabs={tabs} />
      )}
    </>
  );
}

/** With the number of unconfirmed deployments. */
function ChangesLabel({ agentId }: { agentId: string }) {
  const pending = usePendingSets(agentId).length;
  return (
    <span className="inline-flex items-center gap-1.5">
      Changes
      {pending > 0 && (
        <Badge tone="warn">
          {pending}
          <span className="sr-only"> waiting for confirmation</span>
        </Badge>
      )}
    </span>
  );
}
