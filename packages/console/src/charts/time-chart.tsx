import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import { useSignal, zone } from "../state/signals.ts";
import { useWidth } from "../ui/measure.ts";
import { type Plot, plotOf, TimeAxis, ValueAxis } from "./axes.tsx";
import { Lines, StackedBars } from "./marks.tsx";
import { type Series, stackTotals, Swatch, topOf } from "./series.tsx";
import { stepLabel, type TimeSteps, timeTicks } from "./time-steps.ts";
import { formatTick, formatValue, type Unit, valueTicks } from "./units.ts";

export interface TimeChartProps {
  /** The accessible name. */
  title: string;
  steps: TimeSteps;
  /** The visible series. */
  series: readonly Series[];
  unit: Unit;
  kind: "bars" | "lines";
  /** Keys of two lines; the area between them is filled. */
  band?: readonly [low: string, high: string] | undefined;
  /** Fills the area below lines. */
  filled?: boolean;
  /** What Enter or a click on a step does. `what` continues the sentence "Click to". */
  open?: { what: string; at: (index: number) => void } | undefined;
  height?: number;
}

const HOW_TO_OPEN = matchMedia("(pointer: coarse)").matches ? "Tap again" : "Click or press Enter";

/** Width of a label of the time axis, with space around it. */
const LABEL_WIDTH = 64;

/** Values over time. The pointer or the arrow keys show the values of one step. */
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
          <StepSlider
            {...props}
            plot={plot}
            index={index}
            onIndex={setActive}
            text={
              index === undefined
                ? "Use the arrow keys to read the values"
                : readoutText({ label, series, index, unit })
            }
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

interface StepSliderProps extends TimeChartProps {
  plot: Plot;
  index: number | undefined;
  onIndex: (index: number | undefined) => void;
  text: string;
}

/** Covers the plot: a slider over the steps, so that screen readers announce the values of each step. */
function StepSlider({ title, steps, plot, index, onIndex, open, text }: StepSliderProps) {
  const last = steps.at.length - 1;
  const shownBefore = useRef<number>(undefined);
  const onPointer = (event: PointerEvent): void => onIndex(plot.indexAt(positionOf(event, plot)));
  const openStep = (): void => {
    if (!open || index === undefined) return;
    // The page may change its range: the same index would be another step.
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
        // A mouse has already shown the step when it clicks; the first tap of a finger only shows it.
        shownBefore.current = event.pointerType === "mouse" ? plot.indexAt(positionOf(event, plot)) : index;
        onPointer(event);
      }}
      onPointerLeave={({ pointerType }) => pointerType === "mouse" && onIndex(undefined)}
      onBlur={() => onIndex(undefined)}
      onClick={() => index === shownBefore.current && openStep()}
      onKeyDown={onKey}
    />
  );
}

const positionOf = ({ clientX, currentTarget }: PointerEvent, { left }: Plot): number =>
  clientX - currentTarget.getBoundingClientRect().left + left;

const PAGE = 10;

function keyTarget(key: string, index: number | undefined, last: number): number | undefined {
  if (key === "Home") return 0;
  if (key === "End") return last;
  // The first key press selects the newest step.
  const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: PAGE, PageDown: -PAGE }[key];
  return step === undefined ? undefined : index === undefined ? last : index + step;
}

interface ReadoutProps {
  plot: Plot;
  index: number;
  /** The time of the step. */
  label: string;
  series: readonly Series[];
  unit: Unit;
  kind: "bars" | "lines";
  /** What Enter or a click does, as a sentence. */
  hint?: string | undefined;
}

/** The values of one step, in a box next to it. */
function Readout({ plot, index, label, series, unit, kind, hint }: ReadoutProps) {
  const x = plot.x(index);
  const atLeft = x < plot.left + plot.width / 2;
  const side = atLeft ? { left: x + 12 } : { right: `calc(100% - ${x - 12}px)` };
  // Topmost first, in the order of the stack.
  const rows = kind === "bars" ? series.toReversed() : series;
  return (
    <div
      aria-hidden="true"
      style={{ top: plot.top, ...side }}
      className="border-line bg-raised shadow-raised pointer-events-none absolute z-10 max-w-64 min-w-36 rounded-md border px-2.5 py-2 text-xs"
    >
      <p className="mb-1 font-medium whitespace-nowrap">{label}</p>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-2 gap-y-0.5">
        {rows.map(({ key, label, look, values }) => (
          <div key={key} className="contents">
            <Swatch look={look} kind={kind} />
            <dt className="text-muted truncate">{label}</dt>
            <dd className="text-right font-medium">{formatValue(values[index] ?? null, unit)}</dd>
          </div>
        ))}
        {kind === "bars" && series.length > 1 && (
          <div className="border-line col-span-3 mt-0.5 flex justify-between gap-3 border-t pt-1">
            <dt className="text-muted">Total</dt>
            <dd className="font-medium">{formatValue(stackTotals(series)[index] ?? 0, unit)}</dd>
          </div>
        )}
      </dl>
      {hint !== undefined && <p className="text-faint text-2xs mt-1.5 text-balance">{hint}</p>}
    </div>
  );
}

/** The values of one step as a sentence, for screen readers. */
function readoutText({ label, series, index, unit }: Omit<ReadoutProps, "plot" | "kind" | "hint">): string {
  return `${label}: ${series.map(({ label, values }) => `${label} ${formatValue(values[index] ?? null, unit)}`).join(", ")}`;
}
