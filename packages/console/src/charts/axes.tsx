import type { Plot } from "./plot.ts";
import type { TimeTick } from "./time-steps.ts";

/** Lines at each value, and their labels before them. */
export function ValueAxis({ plot, ticks }: { plot: Plot; ticks: readonly { value: number; label: string }[] }) {
  return (
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
}

/** Of letters at the axis' size, half a label's length at most. */
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
