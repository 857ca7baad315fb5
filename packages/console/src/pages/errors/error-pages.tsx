import { useQueryErrorResetBoundary } from "@tanstack/react-query";
import { type ErrorComponentProps, useParams, useRouter } from "@tanstack/react-router";
import { ApiError } from "../../api/api-error.ts";
import { LinkButton } from "../../ui/button.tsx";
import { ErrorState, PageHeader } from "../../ui/page.tsx";

/** Shown in place of a page that failed to load or render. */
export function FailedPage({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const queries = useQueryErrorResetBoundary();
  if (error instanceof ApiError && error.code === "not_found") return <NotFoundPage why={error.message} />;
  return (
    <>
      <PageHeader title="Couldn't load this page" />
      <ErrorState
        error={error}
        titled={false}
        onRetry={() => {
          queries.reset();
          reset();
          void router.invalidate();
        }}
      />
    </>
  );
}

/** Shown for unknown addresses and missing items; `why` is the message of the API. */
export function NotFoundPage({ why }: { why?: string }) {
  const { agentId, runId, threadId } = useParams({ strict: false });
  return (
    <div className="grid justify-items-center py-16 text-center">
      <PageHeader title="Not found" description={why ?? "The address is wrong, or the item was deleted."} />
      {agentId === undefined || (runId ?? threadId) === undefined ? (
        <LinkButton to="/agents" look="primary">
          Go to agents
        </LinkButton>
      ) : (
        <LinkButton
          to={runId === undefined ? "/agents/$agentId/threads" : "/agents/$agentId/runs"}
          params={{ agentId }}
          look="primary"
        >
          Go to {runId === undefined ? "threads" : "runs"} of this agent
        </LinkButton>
      )}
    </div>
  );
}
