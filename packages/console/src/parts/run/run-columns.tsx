import type { RunSummary } from "@patchbay/protocol/console";
import { formatDuration } from "../../format/times.ts";
import { storedChoices, useSignal } from "../../state/signals.ts";
import type { Column } from "../../ui/table/table-rows.tsx";
import { Icon, type IconName } from "../../ui/icon.tsx";
import { useMedia } from "../../ui/measure.ts";
import { Tooltip } from "../../ui/tooltip.tsx";
import { Badge, Cost, Count, Status, Time } from "../../ui/values.tsx";
import { isCall, SOURCE_LABELS, stateOf, waitOf } from "./run-facts.ts";

const QUERY = "sm:w-full sm:max-w-0";
/** Leaves space for the query next to a status and an error code in a table that scrolls sideways. */
const WIDE_QUERY = `${QUERY} sm:min-w-96`;

/** Columns that members choose; the query is always shown. */
export const RUN_COLUMNS = [
  "Role",
  "Source",
  "Model",
  "Key",
  "Session",
  "Calls",
  "Duration",
  "Tokens",
  "Cost",
  "Age",
] as const;
export type RunColumn = (typeof RUN_COLUMNS)[number];

/** The columns for members who have not chosen any. Narrow tables omit some. */
const PRESET = RUN_COLUMNS.filter((name) => !["Model", "Key", "Session"].includes(name));
/** The preset for cards on narrow screens, to keep them short; the run page has the other values. */
const CARD_PRESET = PRESET.filter((name) => !["Source", "Tokens", "Cost"].includes(name));

/** The chosen run list columns, kept in this browser. */
export const chosenColumns = storedChoices<RunColumn>("runColumns", RUN_COLUMNS, PRESET);

/** The chosen columns, which are shown at every width, or the preset. */
export function useRunColumns(): { columns: readonly RunColumn[]; chosen: boolean } {
  const columns = useSignal(chosenColumns);
  const cards = useMedia("(width < 40rem)");
  if (columns !== PRESET) return { columns, chosen: true };
  return { columns: cards ? CARD_PRESET : PRESET, chosen: false };
}

interface RunColumnsOptions {
  /** Shows the columns at every width. */
  everywhere?: boolean;
  /** The list order. Its column is shown at every width. */
  sort?: string | undefined;
  /** Key labels by id. */
  keys?: ReadonlyMap<string, string>;
}

/** Run list columns with these names. Duration bars are relative to `longestMs`. */
export function runColumns(
  longestMs: number,
  names: readonly RunColumn[],
  { everywhere = false, sort, keys = new Map() }: RunColumnsOptions = {},
): Column<RunSummary>[] {
  const isSorted = (column: Column<RunSummary>) => column.sort !== undefined && column.sort === sort?.replace("-", "");
  return allColumns(longestMs, keys)
    .filter((column) => column.head === "Query" || isSorted(column) || names.some((name) => name === column.head))
    .map((column) => {
      if (column.head === "Query") return everywhere ? { ...column, className: WIDE_QUERY } : column;
      const { from: _from, ...kept } = column;
      return everywhere || isSorted(column) ? kept : column;
    });
}

const allColumns = (longestMs: number, keys: ReadonlyMap<string, string>): Column<RunSummary>[] => [
  {
    head: "Query",
    className: `${QUERY} sm:min-w-48 @2xl:min-w-72`,
    cell: (run) => <Query run={run} />,
  },
  {
    head: "Role",
    cell: ({ role }) =>
      role === null ? (
        <span className="text-faint">none</span>
      ) : (
        <span className="inline-block max-w-28 align-middle @5xl:max-w-36">
          <Badge>{role}</Badge>
        </span>
      ),
  },
  {
    head: "Source",
    from: "2xl",
    cell: ({ source }) => <span className="text-muted whitespace-nowrap">{SOURCE_LABELS[source]}</span>,
  },
  {
    head: "Model",
    from: "xl",
    cell: ({ source, provider, model }) => (isCall(source) ? "–" : <Cut>{model || provider}</Cut>),
  },
  { head: "Key", from: "xl", cell: ({ keyId }) => <Cut>{keys.get(keyId) ?? keyId}</Cut> },
  { head: "Session", from: "xl", cell: ({ sessionId }) => <Cut>{sessionId ?? "–"}</Cut> },
  {
    head: "Calls",
    align: "end",
    from: "md",
    cell: (run) => (
      <span className="inline-flex items-center gap-2">
        <CallMark icon="denied" count={run.deniedCalls} word="denied" className="text-warn" />
        <CallMark icon="failed" count={run.failedCalls} word="failed" className="text-bad" />
        <Count value={run.calls} />
      </span>
    ),
  },
  {
    head: "Duration",
    align: "end",
    sort: "durationMs",
    cell: ({ durationMs }) => <DurationBar ms={durationMs} longestMs={longestMs} />,
  },
  {
    head: "Tokens",
    align: "end",
    sort: "tokens",
    from: "lg",
    cell: ({ inputTokens, outputTokens }) => <Count value={inputTokens + outputTokens} short />,
  },
  {
    head: "Cost",
    align: "end",
    sort: "costUsd",
    from: "lg",
    cell: (run) => <RunCost run={run} />,
  },
  {
    head: "Age",
    align: "end",
    sort: "createdAt",
    // As wide as "59 min ago": the other columns stay while it grows.
    cell: ({ createdAt }) => (
      <span className="inline-block sm:min-w-18">
        <Time at={createdAt} />
      </span>
    ),
  },
];

function Query({ run }: { run: RunSummary }) {
  const failure = run.status === "failed" ? run.code : null;
  const wait = waitOf(run);
  return (
    <span className="flex min-w-0 items-center gap-2 max-sm:flex-col max-sm:items-start max-sm:gap-1.5">
      <span className="shrink-0 @7xl:w-24 max-sm:w-auto">
        <Status state={stateOf(run)} brief detail={failure ?? wait} />
      </span>
      <span className="min-w-0 font-medium max-sm:line-clamp-2 sm:truncate">{run.query}</span>
      {failure !== null && <span className="text-bad shrink-0 font-mono text-xs sm:@max-4xl:hidden">{failure}</span>}
      {wait !== null && (
        <span className="text-muted shrink-0 text-xs sm:@max-4xl:hidden">
          {wait} since <Time at={run.waitsFor[0]!.since} />
        </span>
      )}
    </span>
  );
}

const Cut = ({ children }: { children: string }) => (
  <span title={children} className="text-muted block max-w-32 truncate">
    {children}
  </span>
);

const DurationBar = ({ ms, longestMs }: { ms: number; longestMs: number }) => (
  <span className="inline-flex items-center gap-2 whitespace-nowrap">
    <span aria-hidden="true" className="bg-sunken h-1.5 w-12 overflow-hidden rounded-full @max-4xl:hidden">
      <span
        className="bg-series-1 block h-full min-w-px rounded-full"
        style={{ width: `${Math.min(100, (ms / longestMs) * 100)}%` }}
      />
    </span>
    <span className="sm:min-w-14">{formatDuration(ms)}</span>
  </span>
);

type Spent = Pick<RunSummary, "costUsd" | "provider" | "inputTokens" | "outputTokens">;

export const RunCost = ({ run: { costUsd, provider, inputTokens, outputTokens } }: { run: Spent }) => (
  <Cost usd={costUsd} provider={provider} tokens={inputTokens + outputTokens} />
);

/** The number of denied or failed calls as icon and number, with the word in a tooltip. */
function CallMark({ icon, count, word, className }: CallMarkProps) {
  if (count === 0) return null;
  return (
    <Tooltip content={`${count} ${word}`}>
      <span data-hint="" className={`inline-flex items-center gap-0.5 text-xs ${className}`}>
        <Icon name={icon} className="size-3.5" />
        {count}
        <span className="sr-only"> {word} of</span>
      </span>
    </Tooltip>
  );
}

interface CallMarkProps {
  icon: IconName;
  count: number;
  word: string;
  className: string;
}

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
