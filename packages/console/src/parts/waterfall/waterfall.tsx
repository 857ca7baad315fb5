import type { Span } from "@patchbay/protocol/console";
import { defaultRangeExtractor, useWindowVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useHotkeys } from "../../state/hotkeys.ts";
import { Button } from "../../ui/button.tsx";
import { oneLine } from "../../format/one-line.ts";
import { useMedia, useWidth } from "../../ui/measure.ts";
import { Kbd } from "../../ui/values.tsx";
import { axisEndOf, Cursor, TickLabels, TickLines } from "./axis.tsx";
import { Row } from "./row.tsx";
import { ancestorsOf, endOf, gapsIn, nextProblem, rowsOf } from "./rows.ts";
import { handleTreeKey } from "./tree-keys.ts";
import "./waterfall.css";

interface WaterfallProps {
  spans: readonly Span[];
  running: boolean;
  /** The run waits for approval or detached functions. */
  waiting: boolean;
  /** The run's current time, or its duration. */
  nowMs: number;
  /** What call handlers reported, by call. */
  progress: ReadonlyMap<string, readonly { data: unknown }[]>;
  selected: string | undefined;
  onSelect: (id: string | undefined) => void;
  /** The selection follows the focus: for a panel next to the rows. */
  follow: boolean;
}

/** Space for a tick label. */
const TICK_PX = 76;
/** Gaps below this share of the axis are not shown. */
const MIN_GAP = 0.02;

/** A run's spans as a tree with rows over one time axis. Only rows near the viewport are rendered. */
export function Waterfall(props: WaterfallProps) {
  const { spans, running, waiting, nowMs, progress, selected } = props;
  const grid = useRef<HTMLDivElement>(null);
  const [axis, axisWidth] = useWidth<HTMLDivElement>();
  const narrow = useMedia("(width < 40rem)");
  const { rows, active, actions } = useTree(grid, props);
  const activeIndex = Math.max(
    0,
    rows.findIndex(({ span }) => span.id === active),
  );
  const height = narrow ? 52 : 34;
  const virtualizer = useRows({ grid, count: rows.length, height, activeIndex });
  const axisMs = axisEndOf(Math.max(...spans.map((span) => endOf(span, nowMs))), running);
  const maxTicks = Math.max(2, Math.floor(axisWidth / TICK_PX));
  return (
    <>
      <div
        ref={grid}
        role="treegrid"
        aria-label="Waterfall"
        aria-rowcount={rows.length + 1}
        className="relative min-w-0"
        onKeyDown={(event) => handleTreeKey(event, { rows, active, ...actions })}
      >
        <Head axisMs={axisMs} maxTicks={maxTicks} />
        <div role="rowgroup" className="relative" style={{ height: `${virtualizer.getTotalSize()}px` }}>
          <div ref={axis} aria-hidden="true" className="waterfall-axis pointer-events-none absolute inset-y-0">
            <TickLines axisMs={axisMs} maxTicks={maxTicks} />
            <Cursor axis={axis} axisMs={axisMs} />
          </div>
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const row = rows[index]!;
            const { span } = row;
            return (
              <Row
                key={span.id}
                row={row}
                index={index}
                top={start - virtualizer.options.scrollMargin}
                height={height}
                axisMs={axisMs}
                nowMs={span.endMs === null ? nowMs : 0}
                waiting={waiting}
                report={
                  span.endMs === null && progress.has(span.id)
                    ? oneLine(progress.get(span.id)?.at(-1)?.data)
                    : undefined
                }
                gaps={span.kind === "query" ? gapsOf(span, spans, nowMs, axisMs) : undefined}
                active={index === activeIndex}
                selected={span.id === selected}
                onSelect={actions.select}
                onOpen={actions.setOpen}
              />
            );
          })}
        </div>
      </div>
      <Legend onNextProblem={nextProblem(spans, undefined) && actions.goToProblem} />
    </>
  );
}

/** The tree's state: the visible rows, the focused one, and the key and pointer actions. */
function useTree(grid: RefObject<HTMLDivElement | null>, { spans, selected, onSelect, follow }: WaterfallProps) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [focused, setFocused] = useState<string>();
  const pendingFocus = useRef<string>(undefined);
  const rows = useMemo(() => rowsOf(spans, closed), [spans, closed]);
  const current = focused ?? selected;
  const active = (rows.find(({ span }) => span.id === current) ?? rows[0])?.span.id ?? "";

  // Runs after every render: a row far from the viewport exists only after the virtualizer has rendered it.
  useEffect(() => {
    if (pendingFocus.current === undefined) return;
    const row = grid.current?.querySelector<HTMLElement>(`[data-span="${CSS.escape(pendingFocus.current)}"]`);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
    if (row) pendingFocus.current = undefined;
  });
  const focus = (id: string): void => {
    setFocused(id);
    pendingFocus.current = id;
    if (follow && selected !== undefined) onSelect(id);
  };
  // Stable callbacks: the row props for ended spans then never change, so that they render only once.
  const setOpen = useCallback((id: string, open: boolean): void => {
    setClosed((before) => (open ? new Set([...before].filter((other) => other !== id)) : new Set([...before, id])));
  }, []);
  const select = useCallback(
    (id: string): void => {
      setFocused(id);
      onSelect(id);
    },
    [onSelect],
  );
  const goToProblem = (): boolean => {
    const found = nextProblem(spans, current);
    if (!found) return false;
    setClosed(new Set([...closed].filter((id) => !ancestorsOf(spans, found.id).includes(id))));
    focus(found.id);
    onSelect(found.id);
    return true;
  };
  useHotkeys((key) => key === "n" && goToProblem());
  const close = (): boolean => {
    if (selected === undefined) return false;
    onSelect(undefined);
    return true;
  };
  return { rows, active, actions: { focus, setOpen, select, goToProblem, close } };
}

const Head = ({ axisMs, maxTicks }: { axisMs: number; maxTicks: number }) => (
  <div role="rowgroup" className="border-line bg-surface sticky top-12 z-2 rounded-t-lg border-b">
    <div
      role="row"
      aria-rowindex={1}
      className="waterfall-row text-muted h-8 px-2 text-xs max-sm:[grid-template-rows:2rem_0]"
    >
      <div role="columnheader" className="waterfall-name self-center pl-1 font-medium max-sm:sr-only">
        Span
      </div>
      <div role="columnheader" className="waterfall-bar">
        <span className="sr-only">Time since the run was accepted</span>
      </div>
      <div role="columnheader" className="waterfall-length self-center text-right font-medium max-sm:sr-only">
        Duration
      </div>
    </div>
    <div aria-hidden="true" className="waterfall-axis text-faint text-2xs absolute inset-y-0 top-2">
      <TickLabels axisMs={axisMs} maxTicks={maxTicks} />
    </div>
  </div>
);

function gapsOf(query: Span, spans: readonly Span[], nowMs: number, axisMs: number) {
  const intervalOf = (span: Span) => ({ startMs: span.startMs, endMs: endOf(span, nowMs) });
  return gapsIn(intervalOf(query), spans.filter((span) => span !== query).map(intervalOf), axisMs * MIN_GAP);
}

interface useRowsProps {
  grid: RefObject<HTMLDivElement | null>;
  count: number;
  height: number;
  activeIndex: number;
}

/** Virtual rows; the window scrolls. The active row is always rendered: unmounting it would lose the focus. */
function useRows({ grid, count, height, activeIndex }: useRowsProps) {
  const [scrollMargin, setScrollMargin] = useState(0);
  // Measure after every render: content above the rows may change its height.
  useLayoutEffect(() => {
    const top = (grid.current?.getBoundingClientRect().top ?? 0) + window.scrollY;
    if (Math.abs(top - scrollMargin) > 1) setScrollMargin(top);
  });
  const virtualizer = useWindowVirtualizer({
    count,
    estimateSize: () => height,
    overscan: 12,
    scrollMargin,
    rangeExtractor: (range) => [...new Set([...defaultRangeExtractor(range), activeIndex])].toSorted((a, b) => a - b),
  });
  useEffect(() => virtualizer.measure(), [virtualizer, height]);
  return virtualizer;
}

const MARKS = [
  ["bg-series-1", "model"],
  ["bg-series-2", "function"],
  ["bar-waiting text-mark-idle", "waiting"],
  ["bar-denied", "denied"],
  ["bg-mark-bad", "failed"],
  ["bar-gap", "untracked"],
] as const;

const KEYS = [
  ["p", "parent"],
  ["t", "top"],
  ["Enter", "details"],
] as const;

/**
 * The legend for colours, patterns and keys. `onNextProblem` selects the next failed or denied span; undefined without
 * one.
 */
const Legend = ({ onNextProblem }: { onNextProblem: (() => void) | undefined }) => (
  <div className="border-line text-muted flex flex-wrap items-center justify-between gap-x-6 gap-y-2 border-t px-4 py-2 text-xs">
    <ul className="flex flex-wrap items-center gap-x-4 gap-y-1">
      {MARKS.map(([look, label]) => (
        <li key={label} className="inline-flex items-center gap-1.5">
          <span aria-hidden="true" className={`h-2.5 w-4 rounded-sm ${look}`} />
          {label}
        </li>
      ))}
    </ul>
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
      {KEYS.map(([key, label]) => (
        <span key={key} className="inline-flex items-center gap-1.5 max-sm:hidden">
          <Kbd keys={key} /> {label}
        </span>
      ))}
      {onNextProblem && (
        <Button size="small" look="ghost" icon="down" className="-mx-1" onClick={onNextProblem}>
          Next failure <Kbd keys="n" />
        </Button>
      )}
    </div>
  </div>
);
