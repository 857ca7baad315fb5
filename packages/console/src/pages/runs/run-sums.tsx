import type { RunSummary } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { type ComponentProps, type ReactNode, useState } from "react";
import { api, useFiltered } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { toPage } from "../../state/addresses.ts";
import { Button, GuardedButton, LinkButton } from "../../ui/button.tsx";
import { classNames } from "../../ui/class-names.ts";
import { FormDialog } from "../../ui/form/dialog.tsx";
import { Loaded, Skeleton } from "../../ui/page.tsx";
import { showError, showSuccess } from "../../ui/toast.tsx";
import { Count, Duration, Money, Time } from "../../ui/values.tsx";
import { EffectList, effectsOf, lookOf } from "../../parts/run/ask-first.tsx";
import type { filterOf } from "./run-filters.tsx";
import { isOpen } from "../../parts/run/run-facts.ts";

interface RunSumsProps {
  agentId: string;
  filter: ReturnType<typeof filterOf>;
  selected: readonly RunSummary[];
  onClear: () => void;
}

/** The sums for all matching runs, or for the selected ones with their possible actions. Keeps its height. */
export function RunSums({ agentId, filter, selected, onClear }: RunSumsProps) {
  const all = useFiltered("/agents/:agent_id/run-totals", { params: { agentId }, query: filter });
  /** Another filter's sums, until this one's sums are loaded. */
  const isOutdated = all.isPlaceholderData && selected.length === 0;
  const sums = selected.length > 0 ? sumsOf(selected) : all.data;
  return (
    <div
      role="group"
      aria-label={selected.length > 0 ? "Selected runs" : "All matching runs"}
      aria-busy={isOutdated}
      className={classNames(
        "border-line bg-surface flex min-h-12 flex-wrap items-center gap-x-5 gap-y-1 rounded-b-lg border-t px-4 py-2 text-sm",
        isOutdated && "*:opacity-40",
      )}
    >
      {sums && (
        <>
          <span className="font-medium">
            {selected.length > 0 ? `${selected.length} selected` : countOf(sums.runs, "run")}
          </span>
          <Sum name="Failed" value={<Count value={sums.failed} />} />
          <Sum name="Average" value={<Duration ms={sums.runs === 0 ? null : sums.durationMs / sums.runs} />} />
          <Sum name="Tokens" value={<Count value={sums.inputTokens + sums.outputTokens} short />} />
          <Sum name="Cost" value={<Money usd={sums.costUsd} />} />
        </>
      )}
      {selected.length === 0 && all.data?.since != null && (
        <span className="text-muted text-xs">
          Only runs since <Time at={all.data.since} />: choose a shorter time range to include all.
        </span>
      )}
      {selected.length > 0 && (
        <span className="ml-auto flex flex-wrap items-center gap-2">
          <Actions agentId={agentId} selected={selected} />
          <Button size="small" look="ghost" icon="close" onClick={onClear}>
            Clear selection
          </Button>
        </span>
      )}
    </div>
  );
}

const Sum = ({ name, value }: { name: string; value: ReactNode }) => (
  <span className="whitespace-nowrap">
    <span className="text-muted">{name}</span> {value}
  </span>
);

function sumsOf(runs: readonly RunSummary[]) {
  const sum = (of: (run: RunSummary) => number) => runs.reduce((total, run) => total + of(run), 0);
  return {
    runs: runs.length,
    failed: runs.filter(({ status }) => status === "failed").length,
    durationMs: sum(({ durationMs }) => durationMs),
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    costUsd: sum(({ costUsd }) => costUsd),
  };
}

function Actions({ agentId, selected }: Pick<RunSumsProps, "agentId" | "selected">) {
  const [asked, setAsked] = useState<"cancel" | "rerun">();
  const close = () => setAsked(undefined);
  const open = selected.filter(({ status }) => isOpen(status));
  // The older run is on the left; ids begin with their time.
  const [a, b] = selected.map(({ runId }) => runId).toSorted();
  return (
    <>
      {selected.length === 2 && (
        <LinkButton size="small" icon="branch" {...toPage(agentId, "compare")} search={{ a, b }}>
          Compare
        </LinkButton>
      )}
      {open.length > 0 && (
        <GuardedButton needs="developer" size="small" icon="stopped" onClick={() => setAsked("cancel")}>
          Cancel {countOf(open.length, "run")}
        </GuardedButton>
      )}
      <GuardedButton needs="developer" size="small" icon="retry" onClick={() => setAsked("rerun")}>
        Run again
      </GuardedButton>
      {asked && (
        <ForAll {...BULK[asked]} agentId={agentId} runs={asked === "cancel" ? open : selected} onClose={close} />
      )}
    </>
  );
}

interface Bulk extends Pick<ComponentProps<typeof FormDialog>, "look" | "dismiss"> {
  /** The request for one run. */
  path: "/agents/:agent_id/runs/:run_id/cancel" | "/agents/:agent_id/runs/:run_id/reruns";
  /** Lists the runs' calls that wrote or destroyed, before it sends anything. */
  warns?: boolean;
  title: (count: string) => string;
  description: string;
  submit: (count: string) => string;
  done: (count: string) => string;
  failed: string;
}

const BULK: Record<"cancel" | "rerun", Bulk> = {
  cancel: {
    path: "/agents/:agent_id/runs/:run_id/cancel",
    title: (count) => `Cancel ${count}?`,
    description: "Calls that have begun may still take effect.",
    submit: (count) => `Cancel ${count}`,
    dismiss: "Keep running",
    look: "danger",
    done: (count) => `Cancelling ${count}`,
    failed: "Couldn't cancel",
  },
  rerun: {
    path: "/agents/:agent_id/runs/:run_id/reruns",
    warns: true,
    title: (count) => `Run ${count} again?`,
    description: "Each is a new query in its own thread, with real function calls, and costs credit.",
    submit: () => "Run again",
    done: (count) => `Started ${count}`,
    failed: "Couldn't run again",
  },
};

/** Requests at the same time. */
const AT_ONCE = 4;

type ForAllProps = Bulk & { agentId: string; runs: readonly RunSummary[]; onClose: () => void };

/** Asks for a confirmation, then sends one request for each run, also when some fail, and shows how many did. */
function ForAll({ agentId, runs, path, warns = false, title, submit, done, failed, ...dialog }: ForAllProps) {
  const count = countOf(runs.length, "run");
  const [runIds] = useState(() => runs.map(({ runId }) => runId));
  const effects = useQuery({
    queryKey: ["effects", agentId, runIds],
    queryFn: () => effectsOf(agentId, runIds),
    enabled: warns,
  });
  async function sendAll(): Promise<PromiseSettledResult<unknown>[]> {
    const results: PromiseSettledResult<unknown>[] = [];
    const send = ({ runId }: RunSummary) => api.post(path, { params: { agentId, runId } });
    for (let at = 0; at < runs.length; at += AT_ONCE)
      results.push(...(await Promise.allSettled(runs.slice(at, at + AT_ONCE).map(send))));
    return results;
  }
  return (
    <FormDialog
      {...dialog}
      {...(effects.data && { look: lookOf(effects.data) })}
      disabled={warns && !effects.data}
      title={title(count)}
      submit={submit(count)}
      send={sendAll}
      onSent={(results) => {
        const failures = results.filter(({ status }) => status === "rejected");
        const sent = results.length - failures.length;
        if (sent > 0) showSuccess(done(countOf(sent, "run")));
        const [first] = failures;
        if (first?.status === "rejected") showError(`${failed} ${countOf(failures.length, "run")}`, first.reason);
        dialog.onClose();
      }}
      refetches={["/agents/:agent_id/runs", "/agents/:agent_id/run-totals"]}
    >
      {warns && (
        <Loaded query={effects} loading={<Skeleton className="h-10 w-full" />}>
          {(known) =>
            known.calls.length > 0 && (
              <div className="grid min-w-0 gap-2">
                <p className="text-sm">These calls change data or cannot be undone, and may be made a second time:</p>
                <EffectList effects={known} />
              </div>
            )
          }
        </Loaded>
      )}
    </FormDialog>
  );
}
