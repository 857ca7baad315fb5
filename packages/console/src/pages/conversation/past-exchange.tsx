import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Fault, Loading, Skeleton } from "../../ui/states.tsx";
import type { PastExchange } from "./exchange.ts";
import { recorded } from "./recorded.ts";
import { callsInWords, RunFigures } from "./run-figures.tsx";
import { Answer, NoAnswer, ToldView } from "./told-view.tsx";

/** What was answered before: the answer at once, its thoughts and calls where they are asked for. */
export function PastAnswer({ past: { run, answer }, actions }: { past: PastExchange; actions?: React.ReactNode }) {
  const [open, setOpen] = useState(false);
  const log = useQuery({ ...recorded(run), enabled: open });
  const ended = run.finishedAt !== null;
  return (
    <div className="grid min-w-0 gap-2">
      {ended && (
        <Button
          size="small"
          look="ghost"
          icon={open ? "down" : "right"}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="-ml-2 justify-self-start"
        >
          {run.calls > 0 ? callsInWords(run) : "No function calls"}
        </Button>
      )}
      {open && log.isPending && (
        <Loading label="Loading what was called">
          <Skeleton className="h-9 w-full rounded-lg" />
        </Loading>
      )}
      <Fault error={open ? log.error : undefined} />
      {open && log.data ? (
        <ToldView told={log.data.end ? log.data : { ...log.data, answer: answer ?? "" }} />
      ) : answer === undefined ? (
        ended && (
          <NoAnswer message={run.status === "cancelled" ? "Run cancelled" : "No answer came of it."} code={run.code} />
        )
      ) : (
        <Answer text={answer} />
      )}
      <RunFigures
        agentId={run.agentId}
        runId={run.runId}
        state={run.status}
        role={run.role}
        ms={run.durationMs}
        tokens={run.inputTokens + run.outputTokens}
        costUsd={run.costUsd}
      >
        {actions}
      </RunFigures>
    </div>
  );
}
