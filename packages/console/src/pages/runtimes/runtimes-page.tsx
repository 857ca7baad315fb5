import type { Runtime } from "@patchbay/protocol/console";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { list } from "../../api/queries.ts";
import { countOf } from "../../format/words.ts";
import { Card } from "../../ui/card.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Time } from "../../ui/figures.tsx";
import { Icon } from "../../ui/icon.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { Status } from "../../ui/status.tsx";
import { HowToConnect } from "./how-to-connect.tsx";
import { Heartbeat, Load } from "./signs-of-life.tsx";

const route = getRouteApi("/shell/agents/$agentId/runtimes");

/** Heartbeats change no list, so that nothing tells of them. */
const LOOK_AGAIN_MS = 5_000;

/** The processes that run an agent's functions. */
export function RuntimesPage() {
  const { agentId } = route.useParams();
  const runtimes = useInfiniteQuery({
    ...list("/agents/:agent_id/runtimes", { params: { agent_id: agentId } }),
    refetchInterval: LOOK_AGAIN_MS,
  });
  const { data, dataUpdatedAt: fetchedAt } = runtimes;
  const connected = data?.filter((runtime) => runtime.connected).length ?? 0;
  const none = data !== undefined && connected === 0;
  return (
    <>
      <PageHeader
        title="Runtimes"
        description="Processes of yours that run this agent's functions. They connect outwards, and are listed for 7 days after they were last seen."
      />
      <div className="grid gap-5">
        {none && <NoneConnected seenBefore={data.length > 0} />}
        {(data === undefined || data.length > 0 || runtimes.error) && (
          <Card flush title="Processes" description={data && `${countOf(connected, "runtime")} connected now`}>
            <DataTable
              caption="Runtimes"
              query={runtimes}
              columns={columnsOf(fetchedAt)}
              rowKey={({ instanceId }) => instanceId}
              link={({ manifestHash }, props) => (
                <Link to="/agents/$agentId/functions" params={{ agentId }} search={{ manifestHash }} {...props} />
              )}
              empty={null}
            />
          </Card>
        )}
        {data && <HowToConnect agentId={agentId} open={none} />}
      </div>
    </>
  );
}

function NoneConnected({ seenBefore }: { seenBefore: boolean }) {
  return (
    <div role="status" className="bg-warn-soft text-warn flex items-start gap-2.5 rounded-lg px-4 py-3">
      <Icon name="alert" className="mt-0.5 size-4" />
      <div>
        <p className="font-semibold">No runtime is connected</p>
        <p className="text-sm">
          Queries of this agent answer “Agent session not found” until one is.
          {seenBefore && " Those that were seen last are listed below."}
        </p>
      </div>
    </div>
  );
}

const columnsOf = (fetchedAt: number): Column<Runtime>[] => [
  {
    head: "Process",
    cell: ({ instanceId }) => (
      <code className="font-mono text-xs" title={instanceId}>
        {instanceId.slice(0, 8)}
      </code>
    ),
  },
  {
    head: "State",
    cell: ({ connected, draining }) => (
      <Status state={draining ? "draining" : connected ? "connected" : "disconnected"} />
    ),
  },
  {
    head: "Heartbeat",
    cell: ({ connected, silentMs, lastSeenAt }) =>
      connected ? <Heartbeat silentMs={silentMs} fetchedAt={fetchedAt} /> : <Time at={lastSeenAt} />,
  },
  {
    head: "In flight",
    cell: ({ connected, inFlight, concurrency }) =>
      connected ? <Load inFlight={inFlight} concurrency={concurrency} /> : <span className="text-faint">–</span>,
  },
  {
    head: "Package",
    from: "md",
    cell: ({ sdk }) => <span className={sdk === null ? "text-faint" : ""}>{sdk ?? "not known"}</span>,
  },
  {
    head: "Function set",
    from: "lg",
    cell: ({ manifestHash }) => (
      <code className="font-mono text-xs" title={manifestHash}>
        {manifestHash.slice(0, 8)}
      </code>
    ),
  },
  {
    head: "Replica",
    from: "xl",
    cell: ({ replicaId }) =>
      replicaId === null ? (
        <span className="text-faint">–</span>
      ) : (
        <code className="font-mono text-xs" title={replicaId}>
          {replicaId.slice(0, 12)}
        </code>
      ),
  },
  {
    head: "Connected",
    align: "end",
    from: "md",
    cell: ({ connectedAt }) =>
      connectedAt === null ? <span className="text-faint">–</span> : <Time at={connectedAt} />,
  },
];
