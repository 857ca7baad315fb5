import type { RunTrace } from "@patchbay/protocol/console";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useAction } from "../../api/action.ts";
import { api, refetch, useSession } from "../../api/api.ts";
import { formatShare } from "../../format/numbers.ts";
import { snippetsOf } from "../../format/snippets.ts";
import { formatDuration } from "../../format/times.ts";
import { toFunction, toPage, toRun, toThread } from "../../state/addresses.ts";
import { GuardedButton, GuardedLink, LinkButton } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Icon, type IconName } from "../../ui/icon.tsx";
import { PageHeader } from "../../ui/page.tsx";
import { showError, showSuccess } from "../../ui/toast.tsx";
import { Badge, Count, Status, Time } from "../../ui/values.tsx";
import { timeSpent } from "../../parts/waterfall/rows.ts";
import { PlaygroundLink } from "../../parts/playground/playground-link.tsx";
import { bodyOf as bodyOfSettings, settingsOfRun } from "../../parts/playground/settings.ts";
import { useAskFirst } from "../../parts/run/ask-first.tsx";
import { CompareMenu } from "./compare-menu.tsx";
import { CallMarks, RunCost } from "../../parts/run/run-columns.tsx";
import { isCall, isOpen, modelName, SOURCE_LABELS, stateOf } from "../../parts/run/run-facts.ts";
import { mayRetry, RetryRun } from "./retry-run.tsx";

/** A run's query, state and caller, and its actions. */
export function RunHeader({ run }: { run: RunTrace }) {
  const { agentId, runId, threadId } = run;
  return (
    <PageHeader
      title={run.query.slice(0, 80)}
      name={<span className="line-clamp-3">{run.query}</span>}
      actions={<Actions run={run} />}
    >
      <div className="text-muted flex flex-wrap items-center gap-x-3 gap-y-1.5 text-sm">
        <span role="status">
          <Status state={stateOf(run)} />
        </span>
        {run.role === null ? <span>no role</span> : <Badge icon="access">{run.role}</Badge>}
        {!isCall(run.source) && <span className="font-mono text-xs">{modelName(run)}</span>}
        <span>{SOURCE_LABELS[run.source]}</span>
        <Time at={run.createdAt} />
        <span className="inline-flex items-center gap-0.5">
          <code className="font-mono text-xs">{runId}</code>
          <CopyButton text={runId} label="Copy run ID" />
        </span>
        <LinkItem icon="thread">
          <Link {...toThread(agentId, threadId)} className={linkClass}>
            Thread
          </Link>
        </LinkItem>
        {run.sessionId !== null && (
          <LinkItem icon="session">
            <Link {...toPage(agentId, "runs")} search={{ sessionId: run.sessionId }} className={linkClass}>
              Session {run.sessionId}
            </Link>
          </LinkItem>
        )}
        {run.rerunOf !== null && (
          <LinkItem icon="retry">
            Repeats <RunLink agentId={agentId} runId={run.rerunOf} />
          </LinkItem>
        )}
        {run.reruns.length > 0 && (
          <LinkItem icon="retry">
            Repeated by{" "}
            {run.reruns.slice(0, SHOWN_RERUNS).map((again) => (
              <RunLink key={again} agentId={agentId} runId={again} />
            ))}
            {run.reruns.length > SHOWN_RERUNS && `and ${run.reruns.length - SHOWN_RERUNS} more`}
          </LinkItem>
        )}
        {run.continues.slice(-1).map((continued) => (
          <LinkItem key={continued} icon="retry">
            Continues <RunLink agentId={agentId} runId={continued} />
          </LinkItem>
        ))}
        {run.retriedBy !== null && (
          <LinkItem icon="retry">
            Continued by <RunLink agentId={agentId} runId={run.retriedBy} />
          </LinkItem>
        )}
        <LinkItem icon="audit">
          <Link to="/audit" search={{ runId }} className={linkClass}>
            Audit
          </Link>
        </LinkItem>
      </div>
    </PageHeader>
  );
}

const linkClass = "text-text hover:text-accent underline decoration-line underline-offset-2";

const SHOWN_RERUNS = 3;

const RunLink = (params: { agentId: string; runId: string }) => (
  <Link to="/agents/$agentId/runs/$runId" params={params} className={`${linkClass} font-mono text-xs break-all`}>
    {params.runId}
  </Link>
);

const LinkItem = ({ icon, children }: { icon: IconName; children: ReactNode }) => (
  <span className="inline-flex min-w-0 flex-wrap items-center gap-1">
    <Icon name={icon} className="text-faint size-3.5" />
    {children}
  </span>
);

function Actions({ run }: { run: RunTrace }) {
  const { agentId, runId } = run;
  const navigate = useNavigate();
  const { askFirst, dialog } = useAskFirst(agentId);
  const rerun = useAction({
    async mutationFn() {
      if (!(await askFirst([runId]))) return undefined;
      return api.post("/agents/:agent_id/runs/:run_id/reruns", { params: { agentId, runId } });
    },
    onSuccess: (again) => again && void navigate(toRun(agentId, again.runId)),
    onError: (error) => showError("Couldn't run it again", error),
    onSettled: () => refetch("/agents/:agent_id/runs/:run_id"),
  });
  return (
    <>
      {isOpen(run.status) && <Cancel run={run} />}
      {mayRetry(run) && <RetryRun run={run} />}
      <GuardedButton needs="developer" size="small" icon="retry" busy={rerun.isPending} onClick={() => rerun.mutate()}>
        Run again
      </GuardedButton>
      {dialog}
      <CompareMenu run={run} />
      {isCall(run.source) ? <EditTestCall run={run} /> : <EditQuery run={run} />}
    </>
  );
}

/** Opens the function with the same arguments, role and context. As a query, a test call would be a text for a model. */
function EditTestCall({ run: { agentId, runId, role, query } }: { run: RunTrace }) {
  const functionName = query.split(" ", 1)[0] ?? "";
  const search = { again: runId, role: role ?? undefined };
  const link = <LinkButton {...toFunction(agentId, functionName)} search={search} />;
  return (
    <GuardedLink needs="developer" look="primary" size="small" icon="edit" link={link}>
      Edit and call again
    </GuardedLink>
  );
}

function EditQuery({ run }: { run: RunTrace }) {
  const { baseUrl } = useSession();
  const { agentId } = run;
  return (
    <>
      <CopyButton text={() => snippetsOf({ baseUrl, agentId, body: bodyOf(run) }).curl}>Copy as curl</CopyButton>
      <PlaygroundLink agentId={agentId} size="small" icon="edit" search={{ again: run.runId }}>
        Edit and run again
      </PlaygroundLink>
    </>
  );
}

function Cancel({ run: { agentId, runId } }: { run: RunTrace }) {
  const { mutate: cancel, isPending } = useAction({
    mutationFn: () => api.post("/agents/:agent_id/runs/:run_id/cancel", { params: { agentId, runId } }),
    onSuccess: () => showSuccess("Cancelling the run"),
    onError: (error) => showError("Couldn't cancel the run", error),
    onSettled: () => refetch("/agents/:agent_id/runs/:run_id"),
  });
  return (
    <GuardedButton needs="developer" size="small" icon="stopped" busy={isPending} onClick={() => cancel()}>
      Cancel run
    </GuardedButton>
  );
}

/** A body that repeats the query in a new thread. */
const bodyOf = (run: RunTrace) =>
  bodyOfSettings(settingsOfRun(run), { query: run.fullQuery, role: run.role ?? "", threadId: undefined });

/** A run's figures: its time by part, calls, tokens and cost. */
export function RunFigures({ run, nowMs }: { run: RunTrace; nowMs: number }) {
  const { modelMs, functionsMs, waitingMs } = timeSpent(run.spans, nowMs);
  const share = (ms: number) => (nowMs > 0 && ms > 0 ? formatShare(ms, nowMs) : undefined);
  return (
    <dl className="border-line bg-surface shadow-card mb-4 grid grid-cols-2 overflow-hidden rounded-lg border sm:grid-cols-4 xl:grid-cols-7">
      <Figure name="Duration" value={formatDuration(nowMs)} />
      <Figure name="Model" value={formatDuration(modelMs)} detail={share(modelMs)} mark="bg-series-1" />
      <Figure name="Functions" value={formatDuration(functionsMs)} detail={share(functionsMs)} mark="bg-series-2" />
      <Figure name="Waiting" value={formatDuration(waitingMs)} detail={share(waitingMs)} mark="bg-mark-idle" />
      <Figure name="Calls" value={<Count value={run.calls} />} detail={<CallMarks run={run} />} />
      <Figure
        name="Tokens"
        value={<Count value={run.inputTokens + run.outputTokens} short />}
        detail={
          <>
            <Count value={run.inputTokens} short /> in, <Count value={run.outputTokens} short /> out
          </>
        }
      />
      <Figure name="Cost" value={<RunCost run={run} />} />
    </dl>
  );
}

function Figure({ name, value, detail, mark }: { name: string; value: ReactNode; detail?: ReactNode; mark?: string }) {
  return (
    <div className="border-line -mr-px -mb-px min-w-0 border-r last:max-xl:col-span-2 border-b px-4 py-2.5">
      <dt className="text-muted flex items-center gap-1.5 text-xs">
        {mark !== undefined && <span aria-hidden="true" className={`size-2 rounded-xs ${mark}`} />}
        {name}
      </dt>
      <dd className="mt-0.5 flex flex-wrap items-baseline gap-x-2">
        <span className="text-lg font-semibold">{value}</span>
        {detail !== undefined && <span className="text-muted text-xs">{detail}</span>}
      </dd>
    </div>
  );
}
