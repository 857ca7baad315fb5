import type { RunTrace } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { toRun } from "../../state/addresses.ts";
import { GuardedButton } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/form/dialog.tsx";
import { Loaded } from "../../ui/page.tsx";
import { EffectList, effectsOf } from "../../parts/run/ask-first.tsx";
import { isCall } from "../../parts/run/run-facts.ts";

/** Failure codes after which a run can be continued. */
const RETRYABLE: ReadonlySet<string | null> = new Set([
  "provider_error",
  "deadline_exceeded",
  "agent_session_not_found",
  "crash_loop",
]);

/** States for calls that changed data, or may have. */
const MADE: ReadonlySet<string> = new Set(["ok", "unknown", "running"]);

/** True for a run that another one may continue. The API decides. */
export const mayRetry = ({ code, retriedBy, source, spans }: RunTrace): boolean =>
  RETRYABLE.has(code) &&
  retriedBy === null &&
  !isCall(source) &&
  spans.some(({ kind }) => kind === "turn" || kind === "call");

/** Continues a failed run as a new one, after a look at the writes that are not made again. */
export function RetryRun({ run }: { run: RunTrace }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <GuardedButton needs="developer" look="primary" size="small" icon="retry" onClick={() => setOpen(true)}>
        Retry
      </GuardedButton>
      {open && <RetryDialog run={run} onClose={() => setOpen(false)} />}
    </>
  );
}

function RetryDialog({ run, onClose }: { run: RunTrace; onClose: () => void }) {
  const { agentId, runId, continues } = run;
  const navigate = useNavigate();
  const effects = useQuery({
    queryKey: ["effects", agentId, runId],
    queryFn: async () => {
      const { calls, omitted } = await effectsOf(agentId, [...continues, runId]);
      return { calls: calls.filter(({ state }) => MADE.has(state)), omitted };
    },
  });
  return (
    <FormDialog
      title="Retry this run?"
      description="A new run continues it from its last stored step, with the newest functions."
      submit="Retry"
      disabled={effects.data === undefined}
      send={() => api.post("/agents/:agent_id/runs/:run_id/retry", { params: { agentId, runId } })}
      refetches={["/agents/:agent_id/runs/:run_id"]}
      onSent={({ runId: next }) => {
        onClose();
        void navigate(toRun(agentId, next));
      }}
      onClose={onClose}
    >
      <Loaded query={effects} loading={undefined}>
        {(known) =>
          known.calls.length === 0 ? (
            <p className="text-sm">No call in the run has changed data.</p>
          ) : (
            <div className="grid min-w-0 gap-2">
              <p className="text-sm">These calls changed data, or may have. A call with a result is not made again.</p>
              <EffectList effects={known} />
            </div>
          )
        }
      </Loaded>
    </FormDialog>
  );
}
