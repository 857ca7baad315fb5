import type { ConsoleFunction, TrialResult } from "@patchbay/protocol/console";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { formatDuration } from "../../format/times.ts";
import { buttonClass } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Json } from "../../ui/code.tsx";
import { Icon } from "../../ui/icon.tsx";
import { EmptyState, Fault, Loading, Skeleton } from "../../ui/states.tsx";
import { Badge, Status } from "../../ui/status.tsx";
import type { Tried } from "./trial.tsx";

const route = getRouteApi("/shell/agents/$agentId/functions/$functionName");

/** What became of a call. */
export function TrialOutcome({
  one,
  tried,
  result,
  error,
  pending,
}: {
  one: ConsoleFunction;
  tried: Tried | undefined;
  result: TrialResult | undefined;
  error: Error | null;
  pending: boolean;
}) {
  const { agentId } = route.useParams();
  return (
    <Card
      title="Result"
      className="lg:sticky lg:top-16"
      actions={
        result &&
        !pending && (
          <Link
            to="/agents/$agentId/runs/$runId"
            params={{ agentId, runId: result.runId }}
            className={buttonClass("ghost", "small")}
          >
            <Icon name="run" className="size-3.5" />
            Open its run
          </Link>
        )
      }
    >
      <div aria-live="polite">
        {pending ? (
          <Loading label="Calling">
            <div className="grid gap-3">
              <Skeleton className="h-5 w-40" />
              <Skeleton className="h-40 w-full rounded-lg" />
            </div>
          </Loading>
        ) : error ? (
          <Fault error={error} />
        ) : result ? (
          <Outcome one={one} tried={tried} result={result} />
        ) : (
          <EmptyState icon="function" title="Not called yet">
            Nothing is told to a model. The call goes through the role list, the context check, the schema and the
            authorize check like any other, and is kept as a run.
          </EmptyState>
        )}
      </div>
    </Card>
  );
}

function Outcome({ one, tried, result }: { one: ConsoleFunction; tried: Tried | undefined; result: TrialResult }) {
  return (
    <div className="grid gap-4">
      <p className="flex flex-wrap items-center gap-2 text-sm">
        <Status state={result.ok ? "succeeded" : result.rule === null ? "failed" : "denied"} />
        <span>
          as {tried?.role === undefined ? "no role" : <strong className="font-semibold">{tried.role}</strong>}
        </span>
        <span className="text-muted">{formatDuration(result.durationMs)}</span>
      </p>
      {result.ok ? (
        <>
          {result.redacted.length > 0 && <Withheld members={result.redacted} role={tried?.role} />}
          <Json value={result.value} name="Value returned" />
        </>
      ) : (
        <Refusal one={one} role={tried?.role} result={result} />
      )}
    </div>
  );
}

function Withheld({ members, role }: { members: readonly string[]; role: string | undefined }) {
  return (
    <Note tone="warn">
      <p className="font-medium">Withheld from {role === undefined ? "queries without a role" : role}</p>
      <p className="mt-1 flex flex-wrap gap-1">
        {members.map((member) => (
          <Badge key={member} icon="access">
            {member === "$" ? "the whole result" : member}
          </Badge>
        ))}
      </p>
      <p className="mt-1">They were taken out before the result left your process.</p>
    </Note>
  );
}

const RULES: Record<string, (one: ConsoleFunction, role: string) => string> = {
  roles: ({ roles }, role) =>
    `The role list (${roles === "everyone" ? "everyone" : roles.join(", ") || "nobody"}) does not name ${role}. A model would not be told that the function exists, and the handler was not run.`,
  unknown: () => "The connected set has no function of this name. The handler was not run.",
  context: () => "The context does not fit what the service expects. The handler was not run.",
  input: () => "The arguments do not fit the function's schema. The handler was not run.",
  authorize: (_, role) =>
    `The role list lets ${role} call it, but its authorize check refused this call. The handler was not run.`,
};

function Refusal({ one, role, result }: { one: ConsoleFunction; role: string | undefined; result: TrialResult }) {
  const { rule, code, errorMessage } = result;
  const why = rule === null ? undefined : RULES[rule]?.(one, role ?? "a query without a role");
  return (
    <Note tone={rule === null ? "bad" : "warn"}>
      <p className="font-medium">{errorMessage ?? "It failed without a reason."}</p>
      {why !== undefined && <p className="mt-1">{why}</p>}
      <dl className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-xs">
        {rule !== null && (
          <div className="flex gap-1.5">
            <dt>Rule</dt>
            <dd className="font-mono">{rule}</dd>
          </div>
        )}
        {code !== null && (
          <div className="flex items-center gap-1.5">
            <dt>Code</dt>
            <dd className="font-mono">{code}</dd>
          </div>
        )}
        <div className="flex items-center gap-1.5">
          <dt>Run</dt>
          <dd className="font-mono">{result.runId}</dd>
        </div>
      </dl>
      {code === "agent_session_not_found" && (
        <p className="mt-2">No runtime is connected: start one, then call again.</p>
      )}
    </Note>
  );
}

function Note({ tone, children }: { tone: "warn" | "bad"; children: ReactNode }) {
  return (
    <div
      className={`min-w-0 rounded-md px-3 py-2 text-sm ${tone === "bad" ? "bg-bad-soft text-bad" : "bg-warn-soft text-warn"}`}
    >
      {children}
    </div>
  );
}
