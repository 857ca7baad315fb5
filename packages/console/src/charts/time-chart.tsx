import { useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import { useSignal } from "../state/signal.ts";
import { zone } from "../state/zone.ts";
import { TimeAxis, ValueAxis } from "./axes.tsx";
import { Lines, StackedBars } from "./marks.tsx";
import { plotOf, type Plot } from "./plot.ts";
import { Readout, readoutText } from "./readout.tsx";
import { topOf, type Series } from "./series.ts";
import { stepLabel, timeTicks, type TimeSteps } from "./time-steps.ts";
import { formatTick, type Unit } from "./units.ts";
import { useWidth } from "./use-width.ts";
import { valueTicks } from "./value-ticks.ts";

export interface TimeChartProps {
  /** Names it for screen readers. */
  title: string;
  steps: TimeSteps;
  /** Those in view. */
  series: readonly Series[];
  unit: Unit;
  kind: "bars" | "lines";
  /** Keys of two lines whose space between is filled. */
  band?: readonly [low: string, high: string] | undefined;
  /** Fills what lies below lines. */
  filled?: boolean;
  /** What Enter or a click on a step does: `what` goes on from "Click to". */
  open?: { what: string; at: (index: number) => void } | undefined;
  height?: number;
}

const HOW_TO_OPEN = matchMedia("(pointer: coarse)").matches ? "Tap again" : "Click or press Enter";

/** Room that a label of the time axis asks for. */
const LABEL_WIDTH = 64;

/** Values over time, read step by step with the pointer or the arrow keys. */
export function TimeChart(props: TimeChartProps) {
  const { steps, series, unit, kind, band, filled, title, height = 208 } = props;
  const [ref, width] = useWidth<HTMLDivElement>();
  const shownZone = useSignal(zone);
  const [active, setActive] = useState<number>();
  const ticks = valueTicks(topOf(series, kind), unit);
  const labelled = ticks.values.map((value) => ({ value, label: formatTick(value, unit, ticks.step) }));
  const plot = plotOf(
    { width, height, steps: steps.at.length },
    ticks,
    labelled.map(({ label }) => label),
  );
  const index = active === undefined ? undefined : Math.min(active, steps.at.length - 1);
  const label = index === undefined ? "" : stepLabel(steps, index, shownZone);
  return (
    <div ref={ref} className="relative" style={{ height }}>
      {width > 0 && (
        <>
          <svg role="img" aria-label={summaryOf(title, series)} width={width} height={height} className="block">
            <ValueAxis plot={plot} ticks={labelled} />
            <TimeAxis
              plot={plot}
              ticks={timeTicks(steps, Math.max(2, Math.floor(plot.width / LABEL_WIDTH)), shownZone)}
            />
            {index !== undefined && <Cursor plot={plot} index={index} kind={kind} />}
            {kind === "bars" ? (
              <StackedBars plot={plot} series={series} />
            ) : (
              <Lines plot={plot} series={series} band={band} filled={filled} />
            )}
          </svg>
          <Reader
            {...props}
            plot={plot}
            index={index}
            onIndex={setActive}
            text={index === undefined ? "Arrow keys read it step by step" : readoutText({ label, series, index, unit })}
          />
          {index !== undefined && series.length > 0 && (
            <Readout
              {...{ plot, index, label, series, unit, kind }}
              hint={props.open && `${HOW_TO_OPEN} to ${props.open.what}`}
            />
          )}
        </>
      )}
    </div>
  );
}

const summaryOf = (title: string, series: readonly Series[]): string =>
  `${title}: ${series.map(({ label, note = "" }) => `${label} ${note}`.trim()).join(", ")}`;

function Cursor({ plot, index, kind }: { plot: Plot; index: number; kind: "bars" | "lines" }) {
  const x = plot.x(index);
  if (kind === "lines" || plot.band < 2)
    return <line x1={x} x2={x} y1={plot.top} y2={plot.top + plot.height} stroke="var(--edge)" strokeDasharray="3 3" />;
  return (
    <rect
      x={x - plot.band / 2}
      y={plot.top}
      width={plot.band}
      height={plot.height}
      fill="var(--hover)"
      shapeRendering="crispEdges"
    />
  );
}

interface ReaderProps extends TimeChartProps {
  plot: Plot;
  index: number | undefined;
  onIndex: (index: number | undefined) => void;
  text: string;
}

/** Lies over the chart: a slider along its steps, so that screen readers say what each one holds. */
function Reader({ title, steps, plot, index, onIndex, open, text }: ReaderProps) {
  const last = steps.at.length - 1;
  const readBefore = useRef<number>(undefined);
  const onPointer = (event: PointerEvent): void => onIndex(plot.indexAt(placeOf(event, plot)));
  const openStep = (): void => {
    if (!open || index === undefined) return;
    // The page may narrow itself: the same number would be another step.
    onIndex(undefined);
    open.at(index);
  };
  const onKey = (event: KeyboardEvent): void => {
    const next = keyTarget(event.key, index, last);
    if (event.key === "Enter" && index !== undefined) openStep();
    else if (event.key === "Escape") onIndex(undefined);
    else if (next !== undefined) onIndex(Math.min(last, Math.max(0, next)));
    else return;
    event.preventDefault();
  };
  return (
    <div
      role="slider"
      tabIndex={0}
      aria-label={`${title}, by time`}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={index ?? last}
      aria-valuetext={text}
      aria-orientation="horizontal"
      className={`absolute touch-pan-y rounded-sm ${open ? "cursor-pointer" : ""}`}
      style={{ left: plot.left, top: plot.top, width: plot.width, height: plot.height }}
      onPointerMove={onPointer}
      onPointerDown={(event) => {
        // A mouse reads before it presses; a finger's first touch does no more than read.
        readBefore.current = event.pointerType === "mouse" ? plot.indexAt(placeOf(event, plot)) : index;
        onPointer(event);
      }}
      onPointerLeave={({ pointerType }) => pointerType === "mouse" && onIndex(undefined)}
      onBlur={() => onIndex(undefined)}
      onClick={() => index === readBefore.current && openStep()}
      onKeyDown={onKey}
    />
  );
}

const placeOf = ({ clientX, currentTarget }: PointerEvent, { left }: Plot): number =>
  clientX - currentTarget.getBoundingClientRect().left + left;

const PAGE = 10;

function keyTarget(key: string, index: number | undefined, last: number): number | undefined {
  if (key === "Home") return 0;
  if (key === "End") return last;
  // The first key begins at the newest step.
  const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: PAGE, PageDown: -PAGE }[key];
  return step === undefined ? undefined : index === undefined ? last : index + step;
}
