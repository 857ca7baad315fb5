import type { ShadowComparison } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { resource } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { toRun } from "../../state/addresses.ts";
import { TextLink } from "../../ui/button.tsx";
import { Card, EmptyState, Facts, Loaded, Loading } from "../../ui/page.tsx";
import { Badge, Count, Time } from "../../ui/values.tsx";
import { roleLabel } from "../../parts/access/matrix-model.ts";

/** The live feed reports calls, which are compared a little later. */
const REFRESH_MS = 3_000;

/** How a candidate, connected as a shadow, decides on the agent's calls. */
export function ShadowView({ agentId }: { agentId: string }) {
  const shadow = resource("/agents/:agent_id/access/shadow", { params: { agentId } });
  const query = useQuery({ ...shadow, refetchInterval: REFRESH_MS });
  return (
    <Loaded query={query} loading={<Loading block="h-48 rounded-lg" />}>
      {({ shadow }) =>
        shadow ? (
          <Comparison agentId={agentId} shadow={shadow} />
        ) : (
          <Card>
            <EmptyState
              icon="plug"
              title="No candidate has connected"
              command="connect(service, { url, key, shadow: true })"
            >
              A candidate receives no calls. After each call of the agent, the control plane compares how the candidate
              would have decided it.
            </EmptyState>
          </Card>
        )
      }
    </Loaded>
  );
}

function Comparison({ agentId, shadow }: { agentId: string; shadow: ShadowComparison }) {
  const { service, manifestHash, connected, since, judged, dropped, unanswered, changes } = shadow;
  return (
    <Card
      title={`Candidate ${manifestHash.slice(0, 8)} of ${service}`}
      description="Calls that the candidate would have decided differently. It receives no calls."
      actions={connected ? <Badge tone="ok">connected</Badge> : <Badge tone="idle">not connected</Badge>}
      stacked
    >
      <Facts
        items={[
          ["Compared since", <Time at={since} />],
          ["Calls compared", <Count value={judged} />],
          unanswered > 0 && ["Not decided in time", <Count value={unanswered} />],
          dropped > 0 && ["Skipped, because the candidate was too slow", <Count value={dropped} />],
        ]}
      />
      {changes.length === 0 ? (
        <p className="text-muted text-sm">The candidate decides each compared call in the same way.</p>
      ) : (
        <ul aria-label="Differences" className="divide-line divide-y text-sm">
          {changes.map((change) => (
            <li key={JSON.stringify([change.functionName, change.role, change.was, change.is])} className="py-2">
              <Difference agentId={agentId} {...change} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

type Change = ShadowComparison["changes"][number];

const Difference = ({ kind, functionName, role, was, is, calls, runIds, agentId }: Change & { agentId: string }) => (
  <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
    <Badge tone={kind === "allow" ? "bad" : "warn"}>would {kind}</Badge>
    <span className="min-w-0 break-words">
      <span className="font-mono">{functionName}</span> by {roleLabel(role)}: {was} → {is}
    </span>
    <span className="text-muted">{countOf(calls, "call")}</span>
    <span className="text-muted ml-auto flex gap-2">
      {runIds.map((runId) => (
        <TextLink key={runId} {...toRun(agentId, runId)}>
          {runId.slice(0, 12)}
        </TextLink>
      ))}
    </span>
  </div>
);
