import type { Runtime } from "@patchbay/protocol/console";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { list } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { formatDuration } from "../../format/times.ts";
import { toPage } from "../../state/addresses.ts";
import { classNames } from "../../ui/class-names.ts";
import { DataTable } from "../../ui/table/data-table.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { Notice } from "../../ui/notice.tsx";
import { PageHeader } from "../../ui/page.tsx";
import { Time } from "../../ui/values.tsx";
import { ShortId } from "../../ui/short-id.tsx";
import { HowToConnect } from "./how-to-connect.tsx";
import { RuntimeState } from "../../parts/runtime/connect.tsx";

const route = getRouteApi("/shell/agents/$agentId/runtimes");

/** The live feed does not report heartbeats, so the page polls. */
const POLL_MS = 5_000;

/** An agent's runtimes, and how to connect one. */
export function RuntimesPage() {
  const { agentId } = route.useParams();
  const listed = list("/agents/:agent_id/runtimes", { params: { agentId } });
  const runtimes = useInfiniteQuery({ ...listed, refetchInterval: POLL_MS });
  const { data, dataUpdatedAt: fetchedAt } = runtimes;
  const connected = data?.filter((runtime) => runtime.connected).length ?? 0;
  const none = data !== undefined && connected === 0;
  return (
    <>
      <PageHeader
        title="Runtimes"
        description="Your processes that run this agent's functions, connected or seen in the last 7 days"
      />
      <div className="grid gap-5">
        {none && <NoneConnected seenBefore={data.length > 0} />}
        {(data === undefined || data.length > 0 || runtimes.error) && (
          <DataTable
            title="Connections"
            description={data && `${countOf(connected, "runtime")} connected`}
            caption="Runtimes"
            query={runtimes}
            columns={columnsOf(fetchedAt)}
            rowKey={({ instanceId }) => instanceId}
            link={({ manifestHash }, props) => (
              <Link {...toPage(agentId, "functions")} search={{ manifestHash }} {...props} />
            )}
            empty={null}
          />
        )}
        {data && <HowToConnect agentId={agentId} open={none} />}
      </div>
    </>
  );
}

const NoneConnected = ({ seenBefore }: { seenBefore: boolean }) => (
  <Notice role="status" tone="warn" icon="alert">
    <p className="font-semibold">No runtime is connected</p>
    <p>
      Queries to this agent fail with “Agent session not found”.
      {seenBefore && " Runtimes seen recently are listed below."}
    </p>
  </Notice>
);

const columnsOf = (fetchedAt: number): Column<Runtime>[] => [
  {
    head: "Runtime",
    cell: ({ instanceId, host }) => (
      <span className="grid min-w-0" title={instanceId}>
        {host !== null && <span className="max-w-56 truncate font-medium">{host}</span>}
        <code className="text-muted font-mono text-xs">{instanceId.slice(0, 8)}</code>
      </span>
    ),
  },
  {
    head: "Deployment",
    from: "md",
    cell: ({ service, deployment }) => (
      <span className="grid min-w-0">
        <span className="max-w-48 truncate">{service}</span>
        <span className="text-muted max-w-48 truncate text-xs">{deployment ?? "unnamed"}</span>
      </span>
    ),
  },
  { head: "State", cell: RuntimeState },
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
    from: "xl",
    cell: ({ sdk }) => <span className={sdk === null ? "text-faint" : ""}>{sdk ?? "unknown"}</span>,
  },
  { head: "Function set", from: "lg", cell: ({ manifestHash }) => <ShortId id={manifestHash} /> },
  { head: "Replica", from: "xl", cell: ({ replicaId }) => <ShortId id={replicaId} units={12} /> },
  { head: "Connected", align: "end", from: "md", cell: ({ connectedAt }) => <Time at={connectedAt} none="–" /> },
];

/** Three heartbeats at 5 seconds. */
const LATE_MS = 15_000;

/** Time since the last heartbeat; the clock runs on between two polls. */
function Heartbeat({ silentMs, fetchedAt }: { silentMs: number; fetchedAt: number }) {
  const [now, setNow] = useState(fetchedAt);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const age = silentMs + Math.max(0, now - fetchedAt);
  const late = age > LATE_MS;
  return (
    <span className={classNames("inline-flex items-center gap-1.5 whitespace-nowrap", late && "text-warn")}>
      <span
        aria-hidden="true"
        className={classNames("size-1.5 rounded-full", late ? "bg-mark-warn" : "bg-mark-ok animate-pulse-dot")}
      />
      {age < 1_000 ? "now" : `${formatDuration(Math.floor(age / 1_000) * 1_000).replace(".00", "")} ago`}
      {late && ", late"}
    </span>
  );
}

/** A runtime's calls in progress, and its maximum. */
function Load({ inFlight, concurrency }: { inFlight: number; concurrency: number | null }) {
  if (concurrency === null) return <span>{inFlight}</span>;
  const full = inFlight >= concurrency;
  return (
    <span className="inline-flex items-center gap-2 whitespace-nowrap">
      <meter
        aria-label="Calls in flight"
        min={0}
        max={concurrency}
        value={Math.min(inFlight, concurrency)}
        className="sr-only"
      />
      <span aria-hidden="true" className="bg-line h-1.5 w-16 overflow-hidden rounded-full">
        <span
          className={classNames("block h-full rounded-full", full ? "bg-mark-warn" : "bg-mark-info")}
          style={{ width: `${Math.min(100, (100 * inFlight) / concurrency)}%` }}
        />
      </span>
      <span>
        {inFlight} <span className="text-muted">of {concurrency}</span>
        {full && <span className="text-warn">, full</span>}
      </span>
    </span>
  );
}
