import { memo, type ReactNode } from "react";
import { formatDuration } from "../format/times.ts";
import { classNames } from "../ui/class-names.ts";
import { Icon } from "../ui/icon.tsx";
import { Bar } from "./bar.tsx";
import { endOf, troubleOf, type Stretch, type TraceRow } from "./rows.ts";
import { KIND_ICONS, KIND_WORDS, hintOf, nameOf, noteOf } from "./span-look.ts";

interface RowProps {
  row: TraceRow;
  index: number;
  top: number;
  height: number;
  axisMs: number;
  /** For a span that goes on; others do not move. */
  nowMs: number;
  gaps: readonly Stretch[] | undefined;
  active: boolean;
  selected: boolean;
  onSelect: (id: string) => void;
  onOpen: (id: string, open: boolean) => void;
}

/** A line of the waterfall: name, bar, duration. On narrow screens the bar stands below the other two. */
export const Row = memo(function Row({
  row,
  index,
  top,
  height,
  active,
  selected,
  onSelect,
  onOpen,
  ...bar
}: RowProps) {
  const { span, level, open, parent, position, siblings } = row;
  const hint = hintOf(span);
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
      // The head is the first.
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
        <Bar span={span} {...bar} gaps={bar.gaps ?? []} />
        <span className="sr-only">
          {`from ${formatDuration(span.startMs)}, ${span.endMs === null ? "running" : span.state}`}
          {noteOf(span) !== undefined && `, ${noteOf(span)}`}
          {span.waitMs !== null && `, waited ${formatDuration(span.waitMs)}`}
        </span>
      </div>
      <div role="gridcell" className="waterfall-length text-muted self-center text-right text-xs whitespace-nowrap">
        {formatDuration(length)}
      </div>
    </div>
  );
});

/** For the pointer; keys open and close the row itself. */
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

/** What went wrong with it, or below it. */
function Marks({ row: { span, below } }: { row: TraceRow }): ReactNode {
  const own = troubleOf(span);
  const trouble = own ?? below;
  if (trouble === undefined) return null;
  const words = own ? span.state : `${trouble} below`;
  return (
    <span
      title={words}
      className={classNames("shrink-0", trouble === "failed" ? "text-bad" : "text-warn", !own && "opacity-80")}
    >
      <Icon name={own ? trouble : "alert"} className="size-3.5" />
      <span className="sr-only">{words}</span>
    </span>
  );
}
