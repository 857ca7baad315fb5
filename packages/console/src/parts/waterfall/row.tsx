import { memo, type ReactNode } from "react";
import { formatDuration } from "../../format/times.ts";
import { classNames } from "../../ui/class-names.ts";
import { Icon } from "../../ui/icon.tsx";
import { endOf, type Interval, type TraceRow, problemOf } from "./rows.ts";
import { barClass, hintOf, KIND_ICONS, KIND_WORDS, nameOf, noteOf, stateOf } from "./span-look.ts";
import type { Span } from "@patchbay/protocol/console";

interface RowProps {
  row: TraceRow;
  index: number;
  top: number;
  height: number;
  axisMs: number;
  /** The run's current time, for open spans; 0 for others, so that they do not render again. */
  nowMs: number;
  waiting: boolean;
  gaps: readonly Interval[] | undefined;
  /** What the handler reported last; shown at the bar, because the names have little space. */
  report: string | undefined;
  active: boolean;
  selected: boolean;
  onSelect: (id: string) => void;
  onOpen: (id: string, open: boolean) => void;
}

/** A waterfall row: name, bar, duration. On narrow screens the bar is below the other two. */
export const Row = memo(function Row(props: RowProps) {
  const { row, index, top, height, active, selected, report, waiting, onSelect, onOpen, ...bar } = props;
  const { span, level, open, parent, position, siblings } = row;
  const hint = hintOf(span);
  const note = noteOf(span) ?? report;
  const length = endOf(span, bar.nowMs) - span.startMs;
  return (
    <div
      role="row"
      data-span={span.id}
      aria-level={level}
      aria-posinset={position}
      aria-setsize={siblings}
      aria-expanded={parent ? open : undefined}
      aria-selected={selected}
      // Counted from 1; the head is row 1.
      aria-rowindex={index + 2}
      tabIndex={active ? 0 : -1}
      onClick={() => onSelect(span.id)}
      className={classNames(
        "waterfall-row border-line absolute inset-x-0 max-sm:border-b scroll-mt-24 scroll-mb-4 cursor-pointer px-2 text-sm focus-visible:-outline-offset-2",
        selected ? "bg-accent-soft" : "hover:bg-hover/60",
      )}
      style={{ height: `${height}px`, transform: `translateY(${top}px)` }}
    >
      <div role="gridcell" className="waterfall-name flex min-w-0 items-center gap-1.5 self-center pr-2">
        <span aria-hidden="true" className="shrink-0" style={{ width: `${(level - 1) * 14}px` }} />
        <Fold parent={parent} open={open} onOpen={(next) => onOpen(span.id, next)} />
        <Icon name={KIND_ICONS[span.kind]} className="text-muted size-3.5" />
        <span className="sr-only">{KIND_WORDS[span.kind]}</span>
        <span
          className={classNames(
            "truncate",
            span.kind === "queue" ? "text-muted italic" : span.kind === "query" ? "font-medium" : "font-mono text-xs",
          )}
        >
          {nameOf(span)}
          {hint !== undefined && <span className="text-faint ml-2 font-sans">{hint}</span>}
        </span>
        <Marks row={row} />
      </div>
      <div role="gridcell" className="waterfall-bar min-w-0">
        <Bar span={span} {...bar} gaps={bar.gaps ?? []} note={note} />
        <span className="sr-only">
          {`from ${formatDuration(span.startMs)}, ${stateOf(span, waiting)}`}
          {note !== undefined && `, ${note}`}
          {span.waitMs !== null && `, waited ${formatDuration(span.waitMs)}`}
        </span>
      </div>
      <div role="gridcell" className="waterfall-length text-muted self-center text-right text-xs whitespace-nowrap">
        {formatDuration(length)}
      </div>
    </div>
  );
});

/** The expander, for the pointer only: keys expand and collapse the row itself. */
function Fold({ parent, open, onOpen }: { parent: boolean; open: boolean; onOpen: (open: boolean) => void }) {
  if (!parent) return <span aria-hidden="true" className="size-4 shrink-0" />;
  return (
    <span
      aria-hidden="true"
      className="text-faint hover:bg-line hover:text-text -m-1 shrink-0 rounded p-1"
      onClick={(event) => {
        event.stopPropagation();
        onOpen(!open);
      }}
    >
      <Icon name="right" className={classNames("size-4 transition-transform", open && "rotate-90")} />
    </span>
  );
}

/** The span's problem, or that of a span below it. */
function Marks({ row: { span, below } }: { row: TraceRow }): ReactNode {
  const own = problemOf(span);
  const problem = own ?? below;
  if (problem === undefined) return null;
  const text = own ? span.state : `Contains a ${problem} span`;
  return (
    <span
      title={text}
      className={classNames("shrink-0", problem === "failed" ? "text-bad" : "text-warn", !own && "opacity-80")}
    >
      <Icon name={own ? problem : "alert"} className="size-3.5" />
      <span className="sr-only">{text}</span>
    </span>
  );
}

interface BarProps {
  span: Span;
  /** The axis end. */
  axisMs: number;
  nowMs: number;
  /** Intervals without a span. */
  gaps?: readonly Interval[];
  note: string | undefined;
}

const percent = (ms: number, axisMs: number): string => `${Math.min(100, (ms / axisMs) * 100)}%`;

/** A span on the axis: waiting lighter than work, with a note if it was denied, failed or cancelled, has labels, or reported progress. */
function Bar({ span, axisMs, nowMs, gaps = [], note }: BarProps) {
  const endMs = endOf(span, nowMs);
  const lengthMs = endMs - span.startMs;
  const waitMs = Math.min(span.waitMs ?? 0, lengthMs);
  const thin = span.kind === "query";
  return (
    <div className="relative h-full" aria-hidden="true">
      <div
        className={classNames("absolute top-1/2 flex min-w-[3px] -translate-y-1/2", thin ? "h-1.5" : "h-3.5")}
        style={{ left: percent(span.startMs, axisMs), width: percent(lengthMs, axisMs) }}
      >
        {waitMs > 0 && (
          <div
            className={classNames(
              "bar-waiting h-full rounded-l-sm",
              span.kind === "turn" ? "text-series-1" : "text-series-2",
            )}
            style={{ width: percent(waitMs, lengthMs) }}
          />
        )}
        <div
          className={classNames(
            "h-full min-w-0 flex-1",
            waitMs > 0 ? "rounded-r-sm" : "rounded-sm",
            barClass(span),
            span.endMs === null && "bar-open",
          )}
        />
      </div>
      {gaps.map(({ startMs, endMs }) => (
        <div
          key={startMs}
          className="bg-surface absolute top-1/2 h-1.5 -translate-y-1/2"
          style={{ left: percent(startMs, axisMs), width: percent(endMs - startMs, axisMs) }}
        >
          <div className="bar-gap h-full" />
        </div>
      ))}
      {note !== undefined && <Note text={note} state={span.state} from={span.startMs / axisMs} to={endMs / axisMs} />}
    </div>
  );
}

const NOTES: { [State in Span["state"]]?: string } = {
  denied: "bg-warn-soft text-warn",
  cancelled: "bg-idle-soft text-idle",
  ok: "bg-idle-soft text-idle",
  running: "bg-info-soft text-info",
};

/** Placed after the bar if there is space, otherwise before it, otherwise on it. */
function Note({ text, state, from, to }: { text: string; state: Span["state"]; from: number; to: number }) {
  const position =
    to < 0.6
      ? { left: `calc(${to * 100}% + 8px)`, maxWidth: `calc(${(1 - to) * 100}% - 8px)` }
      : from > 0.4
        ? { right: `calc(${(1 - from) * 100}% + 8px)`, maxWidth: `calc(${from * 100}% - 8px)` }
        : { left: `calc(${from * 100}% + 6px)`, maxWidth: `calc(${(to - from) * 100}% - 12px)` };
  return (
    <span
      className={classNames(
        "text-2xs absolute top-1/2 -translate-y-1/2 truncate rounded px-1 leading-4 font-medium",
        NOTES[state] ?? "bg-bad-soft text-bad",
      )}
      style={position}
    >
      {text}
    </span>
  );
}
