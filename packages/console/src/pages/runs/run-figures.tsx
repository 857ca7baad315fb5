import type { RunTrace } from "@patchbay/protocol/console";
import type { ReactNode } from "react";
import { formatShare } from "../../format/numbers.ts";
import { formatDuration } from "../../format/times.ts";
import { Count, Money } from "../../ui/figures.tsx";
import { timeSpent } from "../../waterfall/rows.ts";

/** The figures of a run in one row, and where its time went. */
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
      <Figure name="Cost" value={<Money usd={run.costUsd} />} />
    </dl>
  );
}

/** Calls that were refused or failed, in words. */
export function CallMarks({
  run: { deniedCalls, failedCalls },
}: {
  run: Pick<RunTrace, "deniedCalls" | "failedCalls">;
}) {
  if (deniedCalls + failedCalls === 0) return null;
  return (
    <>
      {deniedCalls > 0 && <span className="text-warn">{deniedCalls} denied</span>}
      {deniedCalls > 0 && failedCalls > 0 && ", "}
      {failedCalls > 0 && <span className="text-bad">{failedCalls} failed</span>}
    </>
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
