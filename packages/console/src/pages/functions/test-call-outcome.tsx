import type { ConsoleFunction, TestCallResult } from "@patchbay/protocol/console";
import { useMutation } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { api } from "../../api/api.ts";
import { formatDuration } from "../../format/times.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Json } from "../../ui/json.tsx";
import { Card, EmptyState, Fault } from "../../ui/page.tsx";
import { showError } from "../../ui/toast.tsx";
import { Badge, fieldLabel, Status, useRunClock } from "../../ui/values.tsx";
import { WaitsForApproval } from "../approvals/waits-for-approval.tsx";
import { callsOf } from "../conversation/exchange.ts";
import { CallProgress } from "../conversation/exchange-view.tsx";
import { OwnerError } from "../runs/owner-error.tsx";
import { SaveCase } from "./save-case.tsx";
import { isPending, type ShownResult, type TestRun } from "./test-run.ts";

const route = getRouteApi("/shell/agents/$agentId/functions/$functionName");

/** A test call in progress, or its result. */
export function TestCallOutcome({ fn, run }: { fn: ConsoleFunction; run: TestRun | undefined }) {
  const { agentId } = route.useParams();
  const { sent, runId, result, error } = run ?? {};
  return (
    <Card
      title="Result"
      className="lg:sticky lg:top-16"
      actions={
        runId !== undefined && (
          <LinkButton
            to="/agents/$agentId/runs/$runId"
            params={{ agentId, runId }}
            look="ghost"
            size="small"
            icon="run"
          >
            Open run
          </LinkButton>
        )
      }
    >
      <div aria-live="polite">
        {run && isPending(run) ? (
          <Pending agentId={agentId} run={run} />
        ) : error !== undefined ? (
          <Fault error={error} />
        ) : result ? (
          <Outcome fn={fn} sent={sent} result={result} />
        ) : (
          <EmptyState icon="function" title="No result yet">
            Calls the function directly, without a model, and stores the call as a run.
          </EmptyState>
        )}
      </div>
    </Card>
  );
}

/** The time since the call was sent, the progress that its handler reported, and a button that cancels it. */
function Pending({ agentId, run: { runId, sentAt, transcript } }: { agentId: string; run: TestRun }) {
  const elapsedMs = useRunClock({ running: true, knownMs: 0, knownAt: sentAt });
  const { progress = [], waits = false } = callsOf(transcript)[0] ?? {};
  const cancel = useMutation({
    mutationFn: () => api.post("/agents/:agent_id/runs/:run_id/cancel", { params: { agentId, runId: runId ?? "" } }),
    onError: (error) => showError("Couldn't cancel the call", error),
  });
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-center gap-2 text-sm">
        <Status state={waits ? "waiting" : "running"} />
        {/* Not announced: it changes many times a second. */}
        <span role="timer" aria-live="off" aria-label="Elapsed" className="text-muted">
          {formatDuration(elapsedMs)}
        </span>
        <Button
          size="small"
          icon="stopped"
          className="ml-auto"
          disabled={runId === undefined}
          busy={cancel.isPending || cancel.isSuccess}
          onClick={() => cancel.mutate()}
        >
          Cancel call
        </Button>
      </div>
      {waits && runId !== undefined && <WaitsForApproval runId={runId} />}
      {progress.length > 0 && <CallProgress progress={progress} />}
    </div>
  );
}

const Outcome = ({
  fn,
  sent,
  result,
}: {
  fn: ConsoleFunction;
  sent: TestRun["sent"] | undefined;
  result: ShownResult;
}) => (
  <div className="grid gap-4">
    <p className="flex flex-wrap items-center gap-2 text-sm">
      <Status state={result.ok ? "succeeded" : result.rule === null ? "failed" : "denied"} />
      <span>as {sent?.role === undefined ? "no role" : <strong className="font-semibold">{sent.role}</strong>}</span>
      <span className="text-muted">{formatDuration(result.durationMs)}</span>
    </p>
    {result.ok ? (
      <>
        {result.redacted.length > 0 && <RemovedFields fields={result.redacted} role={sent?.role} />}
        <Json value={result.value} name="Value returned" />
      </>
    ) : (
      <>
        <Failure fn={fn} role={sent?.role} result={result} />
        <OwnerError failure={result} />
      </>
    )}
    {sent?.arguments && (
      <SaveCase functionName={fn.name} input={sent.arguments} context={sent.context ?? {}} role={sent.role} />
    )}
  </div>
);

const RemovedFields = ({ fields, role }: { fields: readonly string[]; role: string | undefined }) => (
  <Note tone="warn">
    <p className="font-medium">Removed for {role === undefined ? "queries without a role" : role}</p>
    <p className="mt-1 flex flex-wrap gap-1">
      {fields.map((field) => (
        <Badge key={field} icon="access">
          {fieldLabel(field)}
        </Badge>
      ))}
    </p>
    <p className="mt-1">Your runtime removed them before it sent the result.</p>
  </Note>
);

/** Which rule denied the call. The control plane has the same sentences for the calls of runs. */
const RULES: Record<string, (fn: ConsoleFunction, role: string | undefined) => string> = {
  roles: ({ roles }, role) =>
    `The function requires one of the roles ${roles === "everyone" ? "" : roles.join(", ")}. The call had ${role === undefined ? "no role" : `the role ${role}`}. The handler did not run.`,
  unknown: () => "The connected function set has no function of this name.",
  context: () => "The context does not match what the service expects; the handler did not run.",
  input: () => "The arguments do not match its schema; the handler did not run.",
  authorize: (_, role) =>
    `The role list lets ${role === undefined ? "a query without a role" : `role ${role}`} call it, but its authorize check denied this call; the handler did not run.`,
};

function Failure({ fn, role, result }: { fn: ConsoleFunction; role: string | undefined; result: TestCallResult }) {
  const { rule, code, errorMessage } = result;
  const why = rule === null ? undefined : RULES[rule]?.(fn, role);
  return (
    <Note tone={rule === null ? "bad" : "warn"}>
      <p className="font-medium">{errorMessage ?? "The call failed without a message."}</p>
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
        <p className="mt-2">No runtime is connected. Start one, then call again.</p>
      )}
    </Note>
  );
}

const Note = ({ tone, children }: { tone: "warn" | "bad"; children: ReactNode }) => (
  <div
    className={`min-w-0 rounded-md px-3 py-2 text-sm ${tone === "bad" ? "bg-bad-soft text-bad" : "bg-warn-soft text-warn"}`}
  >
    {children}
  </div>
);
