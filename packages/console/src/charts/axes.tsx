import type { TimeTick } from "./time-steps.ts";
import type { ValueTicks } from "./units.ts";

/** The layout of a chart, in pixels. */
export interface Plot {
  left: number;
  top: number;
  width: number;
  height: number;
  /** Width of one step. */
  band: number;
  /** The middle of a step. */
  x: (index: number) => number;
  y: (value: number) => number;
  /** The step at a horizontal position. */
  indexAt: (x: number) => number;
}

const AXIS_HEIGHT = 24;
const TOP = 8;
const RIGHT = 4;
/** Width of a character at the size of the axis, rounded up. */
const CHARACTER_WIDTH = 7;

export function plotOf(
  size: { width: number; height: number; steps: number },
  ticks: ValueTicks,
  labels: readonly string[],
): Plot {
  const left = Math.ceil(Math.max(...labels.map((label) => label.length)) * CHARACTER_WIDTH) + 10;
  const width = Math.max(0, size.width - left - RIGHT);
  const height = size.height - TOP - AXIS_HEIGHT;
  const band = width / Math.max(1, size.steps);
  return {
    left,
    top: TOP,
    width,
    height,
    band,
    x: (index) => left + (index + 0.5) * band,
    y: (value) => TOP + height * (1 - value / ticks.top),
    indexAt: (x) => Math.min(size.steps - 1, Math.max(0, Math.floor((x - left) / band))),
  };
}

/** Grid lines with their labels to the left. */
export const ValueAxis = ({ plot, ticks }: { plot: Plot; ticks: readonly { value: number; label: string }[] }) => (
  <g className="text-2xs" textAnchor="end">
    {ticks.map(({ value, label }) => {
      const y = Math.round(plot.y(value)) + 0.5;
      return (
        <g key={value}>
          <line
            x1={plot.left}
            x2={plot.left + plot.width}
            y1={y}
            y2={y}
            stroke={value === 0 ? "var(--edge)" : "var(--line)"}
            strokeOpacity={value === 0 ? 0.7 : 1}
            shapeRendering="crispEdges"
          />
          <text x={plot.left - 8} y={y} dy="0.32em" className="fill-faint">
            {label}
          </text>
        </g>
      );
    })}
  </g>
);

/** Half the width of the longest label. */
const HALF_LABEL = 18;

export function TimeAxis({ plot, ticks }: { plot: Plot; ticks: readonly TimeTick[] }) {
  const bottom = plot.top + plot.height;
  const right = plot.left + plot.width;
  return (
    <g className="text-2xs" textAnchor="middle">
      {ticks.map(({ index, label, strong }) => {
        const x = Math.round(plot.x(index)) + 0.5;
        return (
          <g key={index}>
            <line x1={x} x2={x} y1={bottom + 1} y2={bottom + 5} stroke="var(--edge)" shapeRendering="crispEdges" />
            <text
              x={Math.min(Math.max(x, plot.left + 4), right - HALF_LABEL)}
              y={bottom + 18}
              className={strong ? "fill-text font-medium" : "fill-faint"}
            >
              {label}
            </text>
          </g>
        );
      })}
    </g>
  );
}
