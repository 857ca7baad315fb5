import type { RunTrace } from "@patchbay/protocol/console";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { api } from "../../api/api.ts";
import { pathOfKey } from "../../api/queries.ts";
import { snippetsOf } from "../../format/snippets.ts";
import { useSession } from "../../state/session.ts";
import { tellDone, tellFailed } from "../../state/toasts.ts";
import { CopyButton } from "../../ui/copy.tsx";
import { Time } from "../../ui/figures.tsx";
import { GuardedButton, GuardedLink } from "../../ui/guarded-button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { Badge, Status } from "../../ui/status.tsx";
import { bodyOf } from "./run-body.ts";
import { SOURCE_WORDS } from "./sources.ts";

/** What was asked, by whom and how it stands, with what can be done about it. */
export function RunHeader({ run, running }: { run: RunTrace; running: boolean }) {
  const { agentId, runId, threadId } = run;
  return (
    <PageHeader
      title={run.query.slice(0, 80)}
      name={<span className="line-clamp-3">{run.query}</span>}
      actions={<Actions run={run} running={running} />}
    >
      <div className="text-muted flex flex-wrap items-center gap-x-3 gap-y-1.5 text-sm">
        <span role="status">
          <Status state={run.status} />
        </span>
        {run.role === null ? <span>no role</span> : <Badge icon="access">{run.role}</Badge>}
        <span className="font-mono text-xs">
          {run.provider} / {run.model}
        </span>
        <span>{SOURCE_WORDS[run.source]}</span>
        <Time at={run.createdAt} />
        <span className="inline-flex items-center gap-0.5">
          <code className="font-mono text-xs">{runId}</code>
          <CopyButton text={runId} label="Copy run id" />
        </span>
        <Place icon="thread">
          <Link to="/agents/$agentId/threads/$threadId" params={{ agentId, threadId }} className={linkClass}>
            Thread
          </Link>
        </Place>
        {run.sessionId !== null && (
          <Place icon="session">
            <Link
              to="/agents/$agentId/runs"
              params={{ agentId }}
              search={{ sessionId: run.sessionId }}
              className={linkClass}
            >
              Session {run.sessionId}
            </Link>
          </Place>
        )}
        <Place icon="audit">
          <Link to="/audit" search={{ runId }} className={linkClass}>
            Audit
          </Link>
        </Place>
      </div>
    </PageHeader>
  );
}

const linkClass = "text-text hover:text-accent underline decoration-line underline-offset-2";

function Place({ icon, children }: { icon: "thread" | "session" | "audit"; children: ReactNode }) {
  return (
    <span className="inline-flex min-w-0 items-center gap-1">
      <Icon name={icon} className="text-faint size-3.5" />
      {children}
    </span>
  );
}

function Actions({ run, running }: { run: RunTrace; running: boolean }) {
  const { baseUrl } = useSession();
  const { agentId } = run;
  return (
    <>
      {running && <Cancel run={run} />}
      <CopyButton text={() => snippetsOf({ baseUrl, agentId, body: bodyOf(run) }).curl}>Copy as curl</CopyButton>
      <GuardedLink
        needs="developer"
        look="primary"
        size="small"
        icon="edit"
        link={<Link to="/agents/$agentId/playground" params={{ agentId }} search={{ again: run.runId }} />}
      >
        Edit and run again
      </GuardedLink>
    </>
  );
}

function Cancel({ run: { agentId, runId } }: { run: RunTrace }) {
  const queries = useQueryClient();
  const cancel = useMutation({
    mutationFn: () =>
      api.post("/agents/:agent_id/runs/:run_id/cancel", { params: { agent_id: agentId, run_id: runId } }),
    onSuccess: () => tellDone("The run is being cancelled"),
    onError: (error) => tellFailed("The run was not cancelled", error),
    onSettled: () =>
      queries.invalidateQueries({
        predicate: ({ queryKey }) => pathOfKey(queryKey) === "/agents/:agent_id/runs/:run_id",
      }),
  });
  return (
    <GuardedButton
      needs="developer"
      size="small"
      icon="stopped"
      busy={cancel.isPending}
      onClick={() => cancel.mutate()}
    >
      Cancel
    </GuardedButton>
  );
}
