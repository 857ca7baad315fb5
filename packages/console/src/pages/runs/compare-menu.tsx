import type { RunSummary, RunTrace } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { resource } from "../../api/api.ts";
import { toPage } from "../../state/addresses.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/form/dialog.tsx";
import { ErrorState, Loading } from "../../ui/page.tsx";
import { SearchField } from "../../ui/table/search-field.tsx";
import { Badge, Duration, Status, Time } from "../../ui/values.tsx";
import { stateOf } from "../../parts/run/run-facts.ts";

const CANDIDATES = 20;

/** Opens a comparison between a run and another one: its origin, a repetition, or any run of the agent. */
export function CompareMenu({ run }: { run: RunTrace }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button size="small" icon="branch" onClick={() => setOpen(true)}>
        Compare
      </Button>
      {open && (
        <Dialog open wide onClose={() => setOpen(false)} title="Compare with">
          <Candidates run={run} />
        </Dialog>
      )}
    </>
  );
}

function Candidates({ run }: { run: RunTrace }) {
  const { agentId, runId, rerunOf, reruns } = run;
  const [q, setQ] = useState("");
  const query = { limit: CANDIDATES, ...(q !== "" && { q }) };
  const runs = useQuery(resource("/agents/:agent_id/runs", { params: { agentId }, query }));
  const related = [...(rerunOf === null ? [] : [rerunOf]), ...reruns];
  const others = runs.data?.items.filter(
    (candidate) => candidate.runId !== runId && !related.includes(candidate.runId),
  );
  return (
    <div className="grid gap-4">
      {related.length > 0 && (
        <ul aria-label="Runs with the same query" className="grid gap-1">
          {related.map((other) => (
            <Related key={other} run={run} other={other} />
          ))}
        </ul>
      )}
      <SearchField label="Search query or ID" value={q} onChange={setQ} />
      {runs.error ? (
        <ErrorState error={runs.error} onRetry={() => void runs.refetch()} />
      ) : !others ? (
        <Loading block="h-40" />
      ) : others.length === 0 ? (
        <p className="text-muted text-sm">No other run{q === "" ? " yet" : " found"}.</p>
      ) : (
        <ul aria-label="Runs" className="grid max-h-96 gap-1 overflow-y-auto">
          {others.map((other) => (
            <Candidate key={other.runId} run={run} other={other.runId}>
              <Summary run={other} />
            </Candidate>
          ))}
        </ul>
      )}
    </div>
  );
}

/** The run's origin, or its repetition. */
function Related({ run, other }: { run: RunTrace; other: string }) {
  const params = { agentId: run.agentId, runId: other };
  const { data } = useQuery(resource("/agents/:agent_id/runs/:run_id", { params }));
  return (
    <Candidate run={run} other={other}>
      <Badge>{other === run.rerunOf ? "origin" : "repetition"}</Badge>
      {data ? <Summary run={data} /> : <code className="font-mono text-xs">{other}</code>}
    </Candidate>
  );
}

const Summary = ({ run }: { run: RunSummary }) => (
  <>
    <span className="min-w-0 flex-1 truncate max-sm:basis-full">{run.query}</span>
    <Status state={stateOf(run)} />
    <span className="text-muted text-xs">{run.role ?? "no role"}</span>
    <span className="text-muted text-xs">
      <Duration ms={run.durationMs} />
    </span>
    <span className="text-muted text-xs">
      <Time at={run.createdAt} />
    </span>
  </>
);

/** The older run is on the left. */
function Candidate({ run, other, children }: { run: RunTrace; other: string; children: ReactNode }) {
  // Ids begin with their time.
  const [a, b] = [run.runId, other].toSorted();
  return (
    <li className="min-w-0">
      <LinkButton
        {...toPage(run.agentId, "compare")}
        search={{ a, b }}
        look="ghost"
        className="h-auto! w-full justify-start! gap-x-3 gap-y-1 py-1.5 text-left font-normal! max-sm:flex-wrap"
      >
        {children}
      </LinkButton>
    </li>
  );
}
