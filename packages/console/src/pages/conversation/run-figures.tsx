import { Link } from "@tanstack/react-router";
import { countOf } from "../../format/words.ts";
import { Count, Duration, Money } from "../../ui/figures.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Status } from "../../ui/status.tsx";

interface RunFiguresProps {
  agentId: string;
  runId: string | undefined;
  state: string;
  role?: string | null | undefined;
  ms: number | null;
  tokens: number | null;
  costUsd: number | null;
  /** Buttons at the line's end. */
  children?: React.ReactNode;
}

/** The line below an answer: how its run went, and the way to its waterfall. */
export function RunFigures({ agentId, runId, state, role, ms, tokens, costUsd, children }: RunFiguresProps) {
  return (
    <div className="text-muted flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1 text-xs">
      <Status state={state} />
      {role !== undefined && (role === null ? <span>no role</span> : <code className="font-mono">{role}</code>)}
      {ms !== null && <Duration ms={ms} />}
      {tokens !== null && (
        <span className="whitespace-nowrap">
          <Count value={tokens} short /> {tokens === 1 ? "token" : "tokens"}
        </span>
      )}
      {costUsd !== null && costUsd > 0 && <Money usd={costUsd} />}
      <span className="ml-auto flex flex-wrap items-center gap-1">
        {children}
        {runId !== undefined && (
          <Link
            to="/agents/$agentId/runs/$runId"
            params={{ agentId, runId }}
            className="text-muted hover:bg-hover hover:text-text inline-flex h-7 items-center gap-1.5 rounded-md px-2 text-xs font-medium"
          >
            <Icon name="run" className="size-3.5" />
            Waterfall
          </Link>
        )}
      </span>
    </div>
  );
}

/** "2 calls, 1 denied" of a run. */
export function callsInWords({
  calls,
  deniedCalls,
  failedCalls,
}: Record<"calls" | "deniedCalls" | "failedCalls", number>) {
  const parts = [
    countOf(calls, "function call"),
    deniedCalls > 0 && `${deniedCalls} denied`,
    failedCalls > 0 && `${failedCalls} failed`,
  ];
  return parts.filter(Boolean).join(", ");
}
