import type { RunSource, RunSummary } from "@patchbay/protocol/console";
import { formatDuration } from "../../format/times.ts";
import type { Column } from "../../ui/data-table.tsx";
import { Badge, Count, Money, Status, Time } from "../../ui/values.tsx";

/** Hidden in the cards of narrow screens to keep them short; the run page has these values. */
const UNSTACKED = "max-sm:hidden!";

/** Columns of a list of runs. Bars of durations are relative to `longestMs`. */
export const runColumns = (longestMs: number): Column<RunSummary>[] => [
  {
    head: "Query",
    className: "sm:w-full sm:max-w-0",
    cell: ({ status, query, code }) => (
      <span className="flex min-w-0 items-center gap-3 max-sm:flex-col max-sm:items-start max-sm:gap-1.5">
        <span className="w-24 shrink-0 max-sm:w-auto">
          <Status state={status} />
        </span>
        <span className="min-w-0 max-w-full sm:truncate">
          <span className="font-medium max-sm:line-clamp-2">{query}</span>
          {code !== null && <span className="text-bad ml-2 font-mono text-xs">{code}</span>}
        </span>
      </span>
    ),
  },
  {
    head: "Role",
    cell: ({ role }) =>
      role === null ? (
        <span className="text-faint">none</span>
      ) : (
        <span className="inline-block max-w-36 align-middle">
          <Badge>{role}</Badge>
        </span>
      ),
  },
  {
    head: "Source",
    from: "xl",
    className: UNSTACKED,
    cell: ({ source }) => <span className="text-muted whitespace-nowrap">{SOURCE_LABELS[source]}</span>,
  },
  {
    head: "Calls",
    align: "end",
    from: "md",
    cell: (run) => (
      <span className="whitespace-nowrap">
        {run.deniedCalls + run.failedCalls > 0 && (
          <span className="text-muted text-xs">
            <CallMarks run={run} /> of{" "}
          </span>
        )}
        <Count value={run.calls} />
      </span>
    ),
  },
  {
    head: "Duration",
    align: "end",
    cell: ({ durationMs }) => <DurationBar ms={durationMs} longestMs={longestMs} />,
  },
  {
    head: "Tokens",
    align: "end",
    from: "lg",
    className: UNSTACKED,
    cell: ({ inputTokens, outputTokens }) => <Count value={inputTokens + outputTokens} short />,
  },
  { head: "Cost", align: "end", from: "lg", className: UNSTACKED, cell: ({ costUsd }) => <Money usd={costUsd} /> },
  { head: "Age", align: "end", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

const DurationBar = ({ ms, longestMs }: { ms: number; longestMs: number }) => (
  <span className="inline-flex items-center gap-2 whitespace-nowrap">
    <span aria-hidden="true" className="bg-sunken h-1.5 w-12 overflow-hidden rounded-full max-md:hidden">
      <span
        className="bg-series-1 block h-full min-w-px rounded-full"
        style={{ width: `${Math.min(100, (ms / longestMs) * 100)}%` }}
      />
    </span>
    <span className="sm:min-w-14">{formatDuration(ms)}</span>
  </span>
);

/** Labels of where a query came from. */
export const SOURCE_LABELS: Record<RunSource, string> = {
  api: "API",
  local: "Local API",
  playground: "Playground",
  test_call: "Test call",
};

interface CallMarksProps {
  run: Pick<RunSummary, "deniedCalls" | "failedCalls">;
}

/** For example "1 denied, 2 failed". */
export function CallMarks({ run: { deniedCalls, failedCalls } }: CallMarksProps) {
  if (deniedCalls + failedCalls === 0) return null;
  return (
    <>
      {deniedCalls > 0 && <span className="text-warn">{deniedCalls} denied</span>}
      {deniedCalls > 0 && failedCalls > 0 && ", "}
      {failedCalls > 0 && <span className="text-bad">{failedCalls} failed</span>}
    </>
  );
}
