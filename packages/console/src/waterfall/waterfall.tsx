import type { Span } from "@patchbay/protocol/console";
import { defaultRangeExtractor, useWindowVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type RefObject } from "react";
import { useHotkeys } from "../state/hotkeys.ts";
import { useMedia } from "../ui/use-media.ts";
import { Cursor, TickLabels, TickLines } from "./axis.tsx";
import { Legend } from "./legend.tsx";
import { Row } from "./row.tsx";
import { ancestorsOf, endOf, gapsIn, nextTrouble, rowsOf } from "./rows.ts";
import { axisEndOf } from "./scale.ts";
import { moveInTree } from "./tree-keys.ts";
import "./waterfall.css";

interface WaterfallProps {
  spans: readonly Span[];
  running: boolean;
  /** How far the run is, or how long it took. */
  nowMs: number;
  selected: string | undefined;
  onSelect: (id: string | undefined) => void;
  /** Keeps what is selected on the row that has the focus: for a panel beside the rows. */
  follow: boolean;
}

/** What the label of a tick needs. */
const TICK_PX = 76;
/** A gap below this share of the axis is no gap to the eye. */
const LEAST_GAP = 0.02;

/** The spans of a run as a tree of rows over one axis of time. Only rows near the screen are drawn. */
export function Waterfall({ spans, running, nowMs, selected, onSelect, follow }: WaterfallProps) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = useState<string>();
  const wanted = useRef<string>(undefined);
  const grid = useRef<HTMLDivElement>(null);
  const axis = useRef<HTMLDivElement>(null);
  const narrow = useMedia("(width < 40rem)");
  const rows = useMemo(() => rowsOf(spans, closed), [spans, closed]);
  const axisMs = axisEndOf(Math.max(running ? nowMs : 0, ...spans.map((span) => endOf(span, 0))), running);
  const most = Math.max(2, Math.floor(useWidth(axis) / TICK_PX));

  const focused = rows.find(({ span }) => span.id === (active ?? selected)) ?? rows[0];
  const activeIndex = focused ? rows.indexOf(focused) : 0;
  const height = narrow ? 52 : 34;
  const virtualizer = useRows({ grid, count: rows.length, height, activeIndex });

  const focus = (id: string): void => {
    setActive(id);
    wanted.current = id;
    if (follow && selected !== undefined) onSelect(id);
  };
  // The row may have to be drawn first.
  useEffect(() => {
    if (wanted.current === undefined) return;
    const row = grid.current?.querySelector<HTMLElement>(`[data-span="${CSS.escape(wanted.current)}"]`);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
    if (row) wanted.current = undefined;
  });
  // Rows that are over are drawn once: what they are given stays the same.
  const setOpen = useCallback((id: string, open: boolean): void => {
    setClosed((before) => (open ? new Set([...before].filter((one) => one !== id)) : new Set([...before, id])));
  }, []);
  const select = useCallback(
    (id: string): void => {
      setActive(id);
      onSelect(id);
    },
    [onSelect],
  );
  const toTrouble = (): boolean => {
    const found = nextTrouble(spans, active ?? selected);
    if (!found) return false;
    setClosed(new Set([...closed].filter((id) => !ancestorsOf(spans, found.id).includes(id))));
    focus(found.id);
    onSelect(found.id);
    return true;
  };
  useHotkeys((key) => key === "n" && toTrouble());
  const close = (): boolean => {
    if (selected === undefined) return false;
    onSelect(undefined);
    return true;
  };
  const troubled = nextTrouble(spans, undefined) !== undefined;
  return (
    <>
      <div
        ref={grid}
        role="treegrid"
        aria-label="Waterfall"
        aria-rowcount={rows.length + 1}
        className="relative min-w-0"
        onKeyDown={(event) =>
          moveInTree(event, { rows, active: focused?.span.id ?? "", focus, setOpen, select, toTrouble, close })
        }
      >
        <Head axisMs={axisMs} most={most} />
        <div role="rowgroup" className="relative" style={{ height: `${virtualizer.getTotalSize()}px` }}>
          <div ref={axis} aria-hidden="true" className="waterfall-axis pointer-events-none absolute inset-y-0">
            <TickLines axisMs={axisMs} most={most} />
            <Cursor axis={axis} axisMs={axisMs} />
          </div>
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const row = rows[index]!;
            const { span } = row;
            const open = span.endMs === null;
            return (
              <Row
                key={span.id}
                row={row}
                index={index}
                top={start - virtualizer.options.scrollMargin}
                height={height}
                axisMs={axisMs}
                nowMs={open ? nowMs : 0}
                gaps={span.kind === "query" ? gapsOf(span, spans, nowMs, axisMs) : undefined}
                active={index === activeIndex}
                selected={span.id === selected}
                onSelect={select}
                onOpen={setOpen}
              />
            );
          })}
        </div>
      </div>
      <Legend onTrouble={troubled ? toTrouble : undefined} />
    </>
  );
}

function Head({ axisMs, most }: { axisMs: number; most: number }) {
  return (
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
        <TickLabels axisMs={axisMs} most={most} />
      </div>
    </div>
  );
}

function gapsOf(query: Span, spans: readonly Span[], nowMs: number, axisMs: number) {
  const stretchOf = (span: Span) => ({ startMs: span.startMs, endMs: endOf(span, nowMs) });
  return gapsIn(stretchOf(query), spans.filter((span) => span !== query).map(stretchOf), axisMs * LEAST_GAP);
}

/** Width of an element as it changes. */
function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    if (!element.current) return undefined;
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}

/** The page itself scrolls; the row with the focus stays drawn, so that it is not lost. */
function useRows({
  grid,
  count,
  height,
  activeIndex,
}: {
  grid: RefObject<HTMLDivElement | null>;
  count: number;
  height: number;
  activeIndex: number;
}) {
  const [scrollMargin, setScrollMargin] = useState(0);
  // What stands above the rows changes its height with the page.
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
