import type { ConsoleFunction, TestCallResult } from "@patchbay/protocol/console";
import { getRouteApi } from "@tanstack/react-router";
import { useAction } from "../../api/action.ts";
import { api } from "../../api/api.ts";
import { formatDuration } from "../../format/times.ts";
import { toRun } from "../../state/addresses.ts";
import { Button, QuietLink } from "../../ui/button.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Json } from "../../ui/text/json.tsx";
import { Card, EmptyState, Fault } from "../../ui/page.tsx";
import { showError } from "../../ui/toast.tsx";
import { fieldLabel, Status, useRunClock } from "../../ui/values.tsx";
import { Badges } from "../../ui/badges.tsx";
import { CallProgress, WaitsForApproval } from "../../parts/conversation/exchange-view.tsx";
import { callsOf } from "../../parts/conversation/exchange.ts";
import { OwnerError } from "../../parts/run/owner-error.tsx";
import { SaveCase } from "../../parts/run/save-case.tsx";
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
          <QuietLink {...toRun(agentId, runId)} icon="run">
            Open run
          </QuietLink>
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
  const cancel = useAction({
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

interface OutcomeProps {
  fn: ConsoleFunction;
  sent: TestRun["sent"] | undefined;
  result: ShownResult;
}

const Outcome = ({ fn, sent, result }: OutcomeProps) => (
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
  <Notice tone="warn">
    <p className="font-medium">Removed for {role === undefined ? "queries without a role" : role}</p>
    <p className="mt-1 flex flex-wrap gap-1">
      <Badges of={fields.map(fieldLabel)} icon="access" />
    </p>
    <p className="mt-1">Your runtime removed them before it sent the result.</p>
  </Notice>
);

/** Which rule denied the call. The control plane has the same sentences for run calls. */
const RULES: Record<string, (fn: ConsoleFunction, role: string | undefined) => string> = {
  roles: ({ roles }, role) =>
    `The function requires one of the roles ${roles === "everyone" ? "" : roles.join(", ")}. The call had ${role === undefined ? "no role" : `the role ${role}`}. The handler did not run.`,
  unknown: () => "The connected function set has no function with this name.",
  context: () => "The context does not match what the service expects; the handler did not run.",
  input: () => "The arguments do not match its schema; the handler did not run.",
  authorize: (_, role) =>
    `The role list lets ${role === undefined ? "a query without a role" : `role ${role}`} call it, but its authorize check denied this call; the handler did not run.`,
  flow: () => "The data-flow rules do not allow this call; the handler did not run.",
  hook: () => "The service's beforeCall hook refused this call; the handler did not run.",
};

function Failure({ fn, role, result }: { fn: ConsoleFunction; role: string | undefined; result: TestCallResult }) {
  const { rule, code, errorMessage } = result;
  const why = rule === null ? undefined : RULES[rule]?.(fn, role);
  return (
    <Notice tone={rule === null ? "bad" : "warn"}>
      <p className="font-medium">{errorMessage ?? "The call failed without a message."}</p>
      {why !== undefined && <p className="mt-1">{why}</p>}
      <dl className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-xs">
        {Object.entries({ Rule: rule, Code: code, Run: result.runId }).map(
          ([name, value]) =>
            value !== null && (
              <div key={name} className="flex items-center gap-1.5">
                <dt>{name}</dt>
                <dd className="font-mono">{value}</dd>
              </div>
            ),
        )}
      </dl>
      {code === "agent_session_not_found" && (
        <p className="mt-2">No runtime is connected. Start one, then call again.</p>
      )}
    </Notice>
  );
}
