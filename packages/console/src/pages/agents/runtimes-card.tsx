import type { Runtime } from "@patchbay/protocol/console";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { list } from "../../api/queries.ts";
import { connectSnippetsOf } from "../../format/snippets.ts";
import { useSession } from "../../state/session.ts";
import { buttonClass } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Command } from "../../ui/code.tsx";
import { Time } from "../../ui/figures.tsx";
import { Icon } from "../../ui/icon.tsx";
import { ErrorState, Loading, Skeleton } from "../../ui/states.tsx";
import { Status } from "../../ui/status.tsx";

const SHOWN = 4;

/** The runtimes that are connected, or how to bring one back. */
export function RuntimesCard({ agentId }: { agentId: string }) {
  const runtimes = useInfiniteQuery(list("/agents/:agent_id/runtimes", { params: { agent_id: agentId } }));
  const connected = runtimes.data?.filter((runtime) => runtime.connected);
  return (
    <Card
      title="Runtimes"
      description={connected && connected.length > 0 ? `${connected.length} connected` : undefined}
      flush
      actions={
        <Link to="/agents/$agentId/runtimes" params={{ agentId }} className={buttonClass("ghost", "small")}>
          All runtimes
        </Link>
      }
    >
      {connected ? (
        connected.length === 0 ? (
          <NotConnected agentId={agentId} />
        ) : (
          <ul>
            {connected.slice(0, SHOWN).map((runtime) => (
              <Row key={runtime.instanceId} {...runtime} />
            ))}
          </ul>
        )
      ) : runtimes.error ? (
        <ErrorState error={runtimes.error} onRetry={() => void runtimes.refetch()} />
      ) : (
        <Loading label="Loading runtimes">
          <div className="grid gap-2 p-4">
            <Skeleton className="h-5 w-28" />
            <Skeleton className="h-4 w-3/4" />
          </div>
        </Loading>
      )}
    </Card>
  );
}

function Row({ instanceId, draining, inFlight, concurrency, sdk, lastSeenAt }: Runtime) {
  return (
    <li className="border-line border-b px-4 py-2.5 last:border-b-0">
      <div className="flex items-center justify-between gap-3">
        <Status state={draining ? "draining" : "connected"} />
        <span className="text-muted text-xs">
          heartbeat <Time at={lastSeenAt} />
        </span>
      </div>
      <p className="mt-1.5 truncate font-mono text-xs" title={instanceId}>
        {instanceId}
      </p>
      <p className="text-muted mt-0.5 text-xs">
        {inFlight}
        {concurrency !== null && ` of ${concurrency}`} calls in flight
        {sdk !== null && ` · ${sdk}`}
      </p>
    </li>
  );
}

function NotConnected({ agentId }: { agentId: string }) {
  const { baseUrl } = useSession();
  return (
    <div className="grid gap-2.5 p-4">
      <p className="flex items-start gap-2 text-sm">
        <Icon name="alert" className="text-warn mt-0.5 size-4" />
        <span className="min-w-0">
          <span className="block font-medium">No runtime is connected</span>
          <span className="text-muted">
            Queries fail with “Agent session not found” until one is. Start it where your functions are:
          </span>
        </span>
      </p>
      <Command text={connectSnippetsOf({ baseUrl, agentId }).cli} />
    </div>
  );
}
