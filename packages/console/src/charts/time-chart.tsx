import { type KeyboardEvent, type PointerEvent, useId, useRef, useState } from "react";
import {
  Area,
  Bar,
  BarChart,
  CartesianGrid,
  ComposedChart,
  type DotItemDotProps,
  Line,
  Tooltip,
  XAxis,
  YAxis,
} from "recharts";
import { useSignal, zone } from "../state/signals.ts";
import {
  cssColor,
  fillOf,
  LookPattern,
  type Series,
  stackTotals,
  strokeOf,
  Swatch,
  topOf,
  wideFirst,
} from "./series.tsx";
import { stepLabel, type TimeSteps, type TimeTick, timeTicks } from "./time-steps.ts";
import { formatValue, type Unit, valueTicks } from "./units.ts";

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
}

const HOW_TO_OPEN = matchMedia("(pointer: coarse)").matches ? "Tap again" : "Click or press Enter";

/** The space around the plot, in pixels, so that the slider can cover it. */
const PLOT = { left: 56, top: 8, right: 6, bottom: 24 };
const TICKS = 5;

/** Values over time. The pointer or the arrow keys show one step's values. */
export function TimeChart(props: TimeChartProps) {
  const { steps, series, unit, kind, title } = props;
  const id = useId();
  const shownZone = useSignal(zone);
  const [active, setActive] = useState<number>();
  const { values, label: valueLabel } = valueTicks(topOf(series, kind), unit);
  const times = timeTicks(steps, TICKS, shownZone);
  const index = active === undefined ? undefined : Math.min(active, steps.at.length - 1);
  const step = index === undefined ? undefined : { index, label: stepLabel(steps, index, shownZone) };
  const Chart = kind === "bars" ? BarChart : ComposedChart;
  return (
    <div className="relative h-52">
      <Chart
        responsive
        role="img"
        aria-label={summaryOf(title, series)}
        accessibilityLayer={false}
        className="text-2xs pointer-events-none size-full [&_.recharts-surface]:overflow-visible"
        data={steps.at.map((_, i) => rowOf(i, props))}
        margin={{ ...PLOT, left: 0, bottom: 0 }}
        barCategoryGap="8%"
      >
        <CartesianGrid vertical={false} stroke="var(--line)" />
        <XAxis
          dataKey="step"
          scale="band"
          stroke="var(--edge)"
          height={PLOT.bottom}
          ticks={times.map(({ index }) => index)}
          interval="preserveStart"
          tick={<TimeLabel ticks={times} />}
        />
        <YAxis
          width={PLOT.left}
          domain={[0, values.at(-1) ?? 1]}
          ticks={values}
          tickFormatter={valueLabel}
          tick={{ className: "fill-faint", fill: undefined }}
          axisLine={false}
          tickLine={false}
          interval={0}
        />
        {step && series.length > 0 && (
          <Tooltip
            defaultIndex={step.index}
            cursor={kind === "bars" ? { fill: "var(--hover)" } : { stroke: "var(--edge)", strokeDasharray: "3 3" }}
            position={{ y: PLOT.top }}
            isAnimationActive={false}
            filterNull={false}
            content={() => <Readout {...props} {...step} />}
          />
        )}
        {kind === "bars" ? barsOf(series, id) : linesOf(props)}
      </Chart>
      <StepSlider
        {...props}
        index={index}
        onIndex={setActive}
        text={step ? readoutText({ ...step, series, unit }) : "Use the arrow keys to read the values"}
      />
    </div>
  );
}

interface TimeLabelProps {
  ticks: readonly TimeTick[];
  // Set by the axis.
  x?: number;
  y?: number;
  payload?: { value: number };
}

function TimeLabel({ ticks, x, y, payload }: TimeLabelProps) {
  const tick = ticks.find(({ index }) => index === payload?.value);
  return (
    <text x={x} y={y} dy="0.8em" textAnchor="middle" className={tick?.strong ? "fill-text font-medium" : "fill-faint"}>
      {tick?.label}
    </text>
  );
}

/** One bar per step with the series stacked, the first at the bottom. */
const barsOf = (series: readonly Series[], id: string) =>
  series.map(({ key, look, values }, i) => [
    <LookPattern key={`${key} pattern`} id={`${id}${i}`} look={look} />,
    <Bar
      key={key}
      dataKey={`values[${i}]`}
      stackId="all"
      fill={fillOf(`${id}${i}`, look)}
      maxBarSize={40}
      // One query among thousands must be visible.
      minPointSize={(_, step) => ((values[step] ?? 0) > 0 ? 1 : 0)}
      isAnimationActive={false}
    />,
  ]);

/** A line per series, interrupted where a value is missing. Wide lines are first, below the others. */
const linesOf = ({ series, band, filled = false }: TimeChartProps) => [
  ...series.map(({ key, look }, i) => {
    const isBand = key === band?.[0] && series.some((other) => other.key === band?.[1]);
    if (!isBand && !filled) return null;
    const area = { dataKey: isBand ? "band" : `values[${i}]`, fill: cssColor(look.color), fillOpacity: 0.13 };
    return <Area key={`${key} area`} {...area} {...LINE} stroke="none" dot={false} activeDot={false} />;
  }),
  ...wideFirst(series).map((line) => (
    <Line
      key={line.key}
      dataKey={`values[${series.indexOf(line)}]`}
      {...LINE}
      {...strokeOf(line.look)}
      dot={dotOf(line)}
      activeDot={false}
    />
  )),
];

const LINE = { type: "linear", isAnimationActive: false, strokeLinecap: "round", strokeLinejoin: "round" } as const;

/** A dot for a step without neighbours, where there is no line. */
const dotOf = ({ values, look: { color, wide = false } }: Series) =>
  function Dot({ index, cx, cy }: DotItemDotProps) {
    if (values[index] == null || values[index - 1] != null || values[index + 1] != null) return null;
    return (
      <circle key={index} cx={cx} cy={cy} r={wide ? 4.5 : 2.25} fill={cssColor(color)} opacity={wide ? 0.45 : 1} />
    );
  };

/** A step's values, as the chart reads them. */
const rowOf = (step: number, { series, band }: TimeChartProps) => ({
  step,
  values: series.map(({ values }) => values[step] ?? null),
  band: band?.map((key) => series.find((other) => other.key === key)?.values[step] ?? null),
});

const summaryOf = (title: string, series: readonly Series[]): string =>
  `${title}: ${series.map(({ label, note = "" }) => `${label} ${note}`.trim()).join(", ")}`;

interface StepSliderProps extends TimeChartProps {
  index: number | undefined;
  onIndex: (index: number | undefined) => void;
  text: string;
}

/** Covers the plot: a slider over the steps, so that screen readers announce each step's values. */
function StepSlider({ title, steps, index, onIndex, open, text }: StepSliderProps) {
  const last = steps.at.length - 1;
  const shownBefore = useRef<number>(undefined);
  const onPointer = (event: PointerEvent): void => onIndex(stepAt(event, steps.at.length));
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
      style={PLOT}
      onPointerMove={onPointer}
      onPointerDown={(event) => {
        // A mouse has already shown the step when it clicks; a finger's first tap only shows it.
        shownBefore.current = event.pointerType === "mouse" ? stepAt(event, steps.at.length) : index;
        onPointer(event);
      }}
      onPointerLeave={({ pointerType }) => pointerType === "mouse" && onIndex(undefined)}
      onBlur={() => onIndex(undefined)}
      onClick={() => index === shownBefore.current && openStep()}
      onKeyDown={onKey}
    />
  );
}

/** The step under the pointer. */
function stepAt({ clientX, currentTarget }: PointerEvent, count: number): number {
  const { left, width } = currentTarget.getBoundingClientRect();
  return Math.min(count - 1, Math.max(0, Math.floor(((clientX - left) / width) * count)));
}

const PAGE = 10;

function keyTarget(key: string, index: number | undefined, last: number): number | undefined {
  if (key === "Home") return 0;
  if (key === "End") return last;
  // The first key press selects the newest step.
  const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: PAGE, PageDown: -PAGE }[key];
  return step === undefined ? undefined : index === undefined ? last : index + step;
}

interface ReadoutProps extends Pick<TimeChartProps, "series" | "unit"> {
  index: number;
  /** The step's time. */
  label: string;
}

/** One step's values, in a box next to it. */
function Readout({ index, label, series, unit, kind, open }: ReadoutProps & Pick<TimeChartProps, "kind" | "open">) {
  // Topmost first, in stack order.
  const rows = kind === "bars" ? series.toReversed() : series;
  return (
    <div
      aria-hidden="true"
      className="border-line bg-raised shadow-raised max-w-64 min-w-36 rounded-md border px-2.5 py-2 text-xs"
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
      {open && <p className="text-faint text-2xs mt-1.5 text-balance">{`${HOW_TO_OPEN} to ${open.what}`}</p>}
    </div>
  );
}

/** One step's values as a sentence, for screen readers. */
function readoutText({ label, series, index, unit }: ReadoutProps): string {
  return `${label}: ${series.map(({ label, values }) => `${label} ${formatValue(values[index] ?? null, unit)}`).join(", ")}`;
}
